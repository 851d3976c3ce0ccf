// One rank's file of a step: nodes as the replay takes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "strategies/step_graph.hpp"

namespace orrery::doors::chakra {

/// What was read otherwise than it is written, counted.
struct Liberties {
    std::uint64_t reduces = 0;   ///< taken as broadcasts
    std::uint64_t barriers = 0;  ///< taken as all_reduces of four bytes
    std::uint64_t workless = 0;  ///< COMP_NODEs without a duration and without work
    std::uint64_t undated = 0;   ///< of the host, with work and without a duration

    Liberties& operator+=(const Liberties& other);
};

/// What is left of the limits on a whole trace.
struct Room {
    std::uint64_t nodes = 0, waits = 0;
};

struct RankTrace {
    strategies::RankGraph graph;
    /// Names (pg_name) of the groups, by the numbers that the graph has of them: as they first come, by id.
    std::vector<std::string> groups;
    /// Ranks of groups that the file itself defines (PyTorch's, in METADATA_NODEs); none: all ranks.
    std::map<std::string, std::vector<std::uint32_t>> defined;
    Liberties liberties;
};

/// rank, of so many. Throws Error (file) that names the node for what cannot be replayed: a file that is cut off or no
/// trace, ids that two nodes have or no node has, types and collectives that are not known, ranks that there are not.
RankTrace read_rank(const std::string& file, std::uint32_t rank, std::uint32_t ranks, const Room& room);

}  // namespace orrery::doors::chakra
