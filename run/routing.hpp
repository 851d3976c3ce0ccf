// Which experts a rank's tokens go to, and where their copies lie on the way there and back.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/partition/experts.hpp"

namespace orrery::run {

/// Copy j of token t of a step (its place in the global batch, counted over sequences) goes to expert
/// (t top_k + j) mod experts: every expert takes as many, whatever the router says, as in Megatron-LM's benchmarks with
/// --moe-router-force-load-balancing (which draws the experts at random). A rank's tokens of a micro-batch are a whole
/// number of turns (support.hpp), so that each begins with expert 0 and one table serves them all.
///
/// Copy u = t top_k + j, counted over the rank's own tokens. Before the exchange and after the way back copies lie by
/// expert; what arrived lies by the rank that sent it, there by expert.
struct RoutingTables {
    std::vector<std::int32_t> experts;   ///< of copy u
    std::vector<std::int32_t> source;    ///< the copy that lies in a row, by expert
    std::vector<std::int32_t> position;  ///< the row of copy u
    std::vector<std::int32_t> arrived;   ///< row by expert -> row as it arrived, over all tokens of this rank's experts
    std::vector<std::int32_t> sorted;    ///< the inverse
};
RoutingTables route(const strategies::ExpertShapes& shapes, std::uint64_t experts, std::uint64_t top_k);

}  // namespace orrery::run
