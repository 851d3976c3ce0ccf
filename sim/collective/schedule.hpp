// What a collective puts on the wire: the one description behind closed-form times, contended flows and tests of bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/collective.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// A group seen as a grid, or as several alike that a slower network joins (slices of chips), one behind the other.
struct Grid {
    std::vector<std::uint32_t> extents = {};  ///< of one of them, the first varies fastest along the GPUs
    std::uint32_t slices = 1;
    [[nodiscard]] bool empty() const { return extents.empty(); }
    bool operator==(const Grid&) const = default;
};

/// How many members sit where; enough for costs that do not ask which.
struct Shape {
    std::uint32_t ranks = 1, nodes = 1;
    Grid grid = {};
    double once = 1;  ///< of what a member has for the members of another node, the share that goes there: each token
                      ///< once for all of them (an all_to_all of tokens); 1: a copy for each
    [[nodiscard]] double local() const { return static_cast<double>(ranks) / nodes; }  ///< ranks of a node, on average
    bool operator==(const Shape&) const = default;
};

/// Members of a collective, node by node.
class Group {
public:
    /// gpus ascending, each once, at least one. grid: where the group is known to be one. once: as in Shape. Throws
    /// Error otherwise.
    Group(std::span<const topology::GpuId> gpus, std::uint32_t gpus_per_node, Grid grid = {}, double once = 1);

    [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(gpus_.size()); }
    [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(first_.size() - 1); }
    /// Members of the smallest node: as many rings can run side by side, each through a GPU (and NIC) of its own.
    [[nodiscard]] std::uint32_t rails() const { return rails_; }
    [[nodiscard]] const std::vector<topology::GpuId>& gpus() const { return gpus_; }
    [[nodiscard]] const Grid& grid() const { return grid_; }
    [[nodiscard]] Shape shape() const { return {ranks(), nodes(), grid_, once_}; }
    [[nodiscard]] std::span<const topology::GpuId> node(std::uint32_t index) const {
        return std::span(gpus_).subspan(first_[index], first_[index + 1] - first_[index]);
    }

private:
    std::vector<topology::GpuId> gpus_;
    std::vector<std::uint32_t> first_;  // of each node, and the end
    std::uint32_t rails_ = 0;
    Grid grid_;
    double once_;
};

/// `bytes` from one GPU to another. They leave the node through the NIC of `via`, a GPU of the sender's node that
/// NVLink reaches (PXN); without PXN via = from.
struct Leg {
    topology::GpuId from, to;
    double bytes;
    topology::GpuId via;
};

/// Legs that flow side by side.
struct Phase {
    std::vector<Leg> legs;
    double pair_bytes = 0;   ///< more than 0: besides, every member sends so much to every other one
    bool forwarded = false;  ///< those go through the sender's GPU on the receiver's rail (PXN)
};

/// Phases follow one another, or, `pipelined`, run at once chunk by chunk.
struct Schedule {
    std::vector<Phase> phases;
    bool pipelined = false;
};

/// Every (from, to, bytes) of a phase with its pairs written out: O(ranks^2) when there are any.
std::vector<Leg> expanded(const Phase& phase, const Group& group);

/// Bytes that one member sends over all phases, whichever NIC they leave by, in the group's order.
std::vector<double> sent_bytes(const Schedule& schedule, const Group& group);
std::vector<double> received_bytes(const Schedule& schedule, const Group& group);

/// The most bytes that leave, or enter, one node.
double busiest_node_bytes(const Schedule& schedule, const Group& group);

/// What a closed form needs of an algorithm: start-ups, bytes and pipeline depth. Bytes are per byte of nccl-tests'
/// "size" and are those of the schedule (a test holds the two together).
struct Outline {
    double inner_steps = 0, outer_steps = 0;  ///< start-ups one after another inside and between nodes
    double posts = 0;                         ///< messages that one rank posts one after another
    double node_bytes = 0;                    ///< the most that leave, or enter, one node
    double rank_bytes = 0;                    ///< the most that a rank sends inside its node
    double inner_depth = 0, outer_depth = 0;  ///< hops that the first chunk takes while the pipeline fills
    double launches = 1;                      ///< collectives that it is made of, each with its own base latency
    bool sequential = false;                  ///< inside and between nodes one after the other, not pipelined
    bool in_switch = false;                   ///< the node's own part is its calibrated all_reduce (NVLS)
};

}  // namespace orrery::sim
