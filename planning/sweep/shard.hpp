// Parts of a sweep, each answered by a process of its own, and what puts them together: for job arrays without MPI.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planning/journal.hpp"
#include "planning/sweep/points.hpp"

namespace orrery::planning {

/// Every of-th point, from point number - 1 on: neighbours, which take as long, go to different parts.
struct Shard {
    std::uint64_t number = 1, of = 1;

    [[nodiscard]] std::uint64_t points(std::uint64_t all) const { return all < number ? 0 : (all - number) / of + 1; }
    [[nodiscard]] std::uint64_t point(std::uint64_t index) const { return number - 1 + index * of; }
    /// "3/16".
    [[nodiscard]] std::string text() const;
};
/// Throws Error that names the option for what is no "3/16".
Shard parse_shard(const std::string& text);

/// The file of one part: its answers, in order, and all that the parts of a sweep have in common. fingerprint: of the
/// sweep.
std::string shard_json(const Points& points, const Shard& shard, const std::string& fingerprint,
                       const std::vector<Answer>& answers);

struct Merged {
    Points points;
    std::vector<Answer> answers;  ///< by point
};
/// All parts of one sweep, in any order. Throws Error that names the file for what is no part, a part that is there
/// twice, one of another sweep or program, and that names the parts that lack.
Merged merge(const std::vector<std::string>& files);

}  // namespace orrery::planning
