// A step as each rank's nodes that wait for each other: what an execution trace of any program holds, where a step
// program (step_program.hpp) has meshes, lanes and buffers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/collective.hpp"

namespace orrery::strategies {

struct GraphNode {
    enum class Kind : std::uint8_t { nothing, kernel, host, to_host, to_device, send, receive, collective };

    std::uint64_t id = 0;  ///< as its file numbers it
    std::uint64_t bytes =
        0;  ///< that a kernel or a copy moves, of a message; of a collective those that the rank brings
    double flops = 0;
    double seconds = 0;                       ///< as recorded; 0: not
    std::uint32_t first_wait = 0, waits = 0;  ///< in RankGraph::waits
    std::int32_t peer = 0;                    ///< of a message: the other rank less this one
    std::uint32_t channel = 0;  ///< a message's tag; a collective's group, by the rank's own numbers (StepGraph::Rank)
    std::uint32_t turn = 0;     ///< so many nodes before it have its group, or its peer, tag and direction
    Kind kind = Kind::nothing;
    kernels::CollectiveKind collective = kernels::CollectiveKind::all_reduce;

    bool operator==(const GraphNode&) const = default;
};

/// Whether two ranks or more take part.
constexpr bool communicates(GraphNode::Kind kind) { return kind >= GraphNode::Kind::send; }

/// Nodes of one rank, ascending by id, and whom they wait for, by place.
struct RankGraph {
    std::vector<GraphNode> nodes;
    std::vector<std::uint32_t> waits;

    [[nodiscard]] std::span<const std::uint32_t> waits_of(const GraphNode& node) const {
        return {waits.data() + node.first_wait, node.waits};
    }
    bool operator==(const RankGraph&) const = default;
};

/// For every node of a rank, those that wait for it, by place.
class Followers {
public:
    explicit Followers(const RankGraph& graph);
    [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t node) const {
        return {after_.data() + first_[node], first_[node + 1] - first_[node]};
    }

private:
    std::vector<std::uint32_t> first_, after_;
};

/// The k-th collective of a group is one at all its ranks, by their ids' order; so is the k-th message from one rank
/// to another with one tag.
struct StepGraph {
    struct Rank {
        std::string file;                   ///< for messages
        std::uint32_t graph = 0;            ///< of graphs: ranks that do the same share one
        std::vector<std::uint32_t> groups;  ///< by the rank's own numbers -> groups
    };
    std::vector<RankGraph> graphs;
    std::vector<Rank> ranks;
    std::vector<std::vector<std::uint32_t>> groups;  ///< their ranks, ascending

    /// The other side of a rank's message.
    static std::uint32_t other_end(std::uint32_t rank, const GraphNode& message) {
        return static_cast<std::uint32_t>(static_cast<std::int64_t>(rank) + message.peer);
    }
    [[nodiscard]] const RankGraph& graph_of(std::uint32_t rank) const { return graphs[ranks[rank].graph]; }
    [[nodiscard]] const std::vector<std::uint32_t>& group_of(std::uint32_t rank, const GraphNode& collective) const {
        return groups[ranks[rank].groups[collective.channel]];
    }
    /// Of a collective, nccl-tests' size: the whole vector.
    [[nodiscard]] double whole_bytes(std::uint32_t rank, const GraphNode& collective) const;
};

/// Throws Error with the file of a rank and the node where nodes wait for each other in a circle, a rank is not in its
/// group, ranks of a group do not issue the same collectives, or a message has no other side of the same size.
void check(const StepGraph& step);

/// "collective 12 of its group (all_gather)", "the message to rank 3 with tag 7": for messages of errors.
std::string describe(const StepGraph& step, std::uint32_t rank, const GraphNode& node);

}  // namespace orrery::strategies
