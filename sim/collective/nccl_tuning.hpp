// NCCL's own cost model of its algorithms and protocols between nodes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/collective.hpp"

namespace orrery::sim {

/// One algorithm with one protocol: time = latency + wire bytes / (efficiency x bandwidth).
struct CollectiveOption {
    std::string_view algorithm, protocol;
    double latency_seconds = 0;
    double efficiency = 1;            ///< share of the links' bandwidth that carries payload
    double max_bytes_per_second = 0;  ///< limit of the protocol on the whole ring
};

/// The options NCCL weighs for a group of `ranks` spread evenly over `nodes` > 1 nodes with NVLink inside: ring for
/// every kind and the double binary tree for all_reduce, each with the LL, LL128 and Simple protocols. Latencies and
/// efficiencies are those of NCCL's tuning model (src/graph/tuning.cc, ncclTopoTuneModel, default constants).
std::vector<CollectiveOption> nccl_options(kernels::CollectiveKind kind, std::uint32_t ranks, std::uint32_t nodes);

}  // namespace orrery::sim
