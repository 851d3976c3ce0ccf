// A step that is a graph of nodes (strategies/step_graph.hpp) on a cluster: what an execution trace of any program
// would take there.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/progress.hpp"
#include "sim/kinds.hpp"
#include "strategies/step_graph.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

struct GraphOptions {
    bool by_work = false;  ///< kernels by their work where they have any, although a duration was recorded
    kernels::Dtype dtype = kernels::Dtype::bf16;  ///< of that work
    ProgressCallback progress = {};               ///< nodes
};

/// Where a rank's step goes: each moment counts once, as the first of these that it holds.
struct RankUse {
    enum Use : std::uint8_t {
        kernels,        ///< of the GPU
        communication,  ///< exposed: messages and collectives whose parties are all there
        copies,         ///< to and from the host
        host,           ///< operations of the host's
        waiting,        ///< for other ranks' parts of messages and collectives
        idle,
    };
    static constexpr std::size_t uses = 6;
    static std::string_view name(std::size_t use);

    std::array<double, uses> seconds{};
    double communicating = 0;  ///< with what is hidden behind kernels
    double end = 0;            ///< of its last node
};

/// Collectives of one kind and size among so many ranks on so many nodes, or messages (send_recv) of one size.
struct TransferUse {
    kernels::CollectiveKind kind = kernels::CollectiveKind::all_reduce;
    std::uint32_t ranks = 0, nodes = 0;
    double bytes = 0;  ///< nccl-tests' size
    std::uint64_t count = 0;
    double seconds = 0;  ///< of all, each from when its last rank is there
    double alone = 0;    ///< the same with nothing else on the wire
    double waited = 0;   ///< of all: the mean of its ranks' waits for the last
};

struct GraphReplayed {
    double seconds = 0;  ///< the step's end
    std::vector<RankUse> ranks;
    std::vector<TransferUse> transfers;  ///< those that take longest in all first
    std::uint64_t nodes = 0;
    std::uint64_t recorded = 0, by_work = 0;  ///< kernels by where their times come from
};

/// Rank r runs on GPU r. A node begins when all that it waits for has ended; a rank runs one kernel, one operation of
/// its host and one copy each way at a time, of those that could begin the one with the least id. Collectives of one
/// group run one after the other, as a communicator's do; beside them kernels that are timed by their work take longer
/// (overlap_slowdown). Messages and collectives share the cluster's links. The step must have passed
/// strategies::check(). Throws Error where there are more ranks than GPUs, and where ranks wait for each other in a
/// circle.
GraphReplayed replay_graph(const strategies::StepGraph& step, const topology::Cluster& cluster,
                           const Profiles& profiles, const GraphOptions& options = {});

}  // namespace orrery::sim
