// All plans of a question, judged by their bounds: which fit at best, and how good each can be.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "planning/search/objective.hpp"
#include "planning/search/site.hpp"
#include "planning/search/space.hpp"

namespace orrery::planning {

/// A site, its plans, and what a second of a step counts there.
struct Field {
    Site site;
    Space space;
    Weight weight;

    /// What a step of a plan of so many ranks counts.
    [[nodiscard]] double count(double step_seconds, std::uint32_t ranks) const {
        return step_seconds * weight.of(site.held(ranks));
    }
};

/// A plan that may fit.
struct Candidate {
    double least = 0;          ///< what it counts at least: its bound's seconds, weighted
    std::uint64_t bytes = 0;   ///< that some GPU holds at least
    std::uint64_t number = 0;  ///< of the plan, among all
    std::uint32_t field = 0;
    std::uint32_t micro_batch = 1;
    strategies::Strategy strategy;
};

struct Candidates {
    std::uint64_t plans = 0;      ///< that there are
    std::uint64_t too_large = 0;  ///< of them, those that need more than the GPU with most memory has
    /// Of each field, the number of its first plan.
    std::vector<std::uint64_t> first;
    std::vector<Candidate> best;  ///< least first; of equals the first plan
    /// No plan that may fit and is not in `best` counts less; infinity: there is none.
    double others = std::numeric_limits<double>::infinity();
};

/// Goes through every plan of every field. Of those that may fit and count at most `most` the best `keep` are kept.
/// done(n): called from several threads when n more parts of the work out of the number given to begin() are done.
Candidates find_candidates(std::span<const Field> fields, std::size_t keep, double most, unsigned threads,
                           const std::function<void(std::size_t parts)>& begin, const std::function<void()>& done);

}  // namespace orrery::planning
