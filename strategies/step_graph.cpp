#include "strategies/step_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"

namespace orrery::strategies {

namespace {

using Kind = GraphNode::Kind;

std::uint32_t other_end(std::uint32_t rank, const GraphNode& node) { return StepGraph::other_end(rank, node); }

/// Places of all nodes in an order in which each comes behind whom it waits for; fewer where there is a circle.
std::vector<std::uint32_t> in_order(const RankGraph& graph) {
    const Followers followers(graph);
    std::vector<std::uint32_t> left, order;
    left.reserve(graph.nodes.size());
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
        left.push_back(graph.nodes[i].waits);
        if (left[i] == 0) order.push_back(i);
    }
    for (std::size_t done = 0; done < order.size(); ++done)
        for (const std::uint32_t next : followers.of(order[done]))
            if (--left[next] == 0) order.push_back(next);
    return order;
}

/// A node of a circle, and the one of it that it waits for.
std::pair<std::uint32_t, std::uint32_t> circle(const RankGraph& graph, const std::vector<std::uint32_t>& order) {
    std::vector<bool> free(graph.nodes.size());
    for (const std::uint32_t each : order) free[each] = true;
    const auto blocked_by = [&](std::uint32_t node) {
        for (const std::uint32_t other : graph.waits_of(graph.nodes[node]))
            if (!free[other]) return other;
        return node;
    };
    auto at = static_cast<std::uint32_t>(std::ranges::find(free, false) - free.begin());
    for (std::size_t steps = 0; steps < graph.nodes.size(); ++steps) at = blocked_by(at);  // into the circle
    return {at, blocked_by(at)};
}

void check_circles(const StepGraph& step) {
    std::vector<bool> seen(step.graphs.size());
    for (const StepGraph::Rank& rank : step.ranks) {
        if (seen[rank.graph]) continue;
        seen[rank.graph] = true;
        const RankGraph& graph = step.graphs[rank.graph];
        const std::vector<std::uint32_t> order = in_order(graph);
        if (order.size() == graph.nodes.size()) continue;
        const auto [one, other] = circle(graph, order);
        throw Error(rank.file, "",
                    fmt::format("node {} waits for node {}, which waits for it in turn", graph.nodes[one].id,
                                graph.nodes[other].id),
                    "dependencies (data_deps, ctrl_deps) must lead to nodes without any: write the trace anew");
    }
}

/// A rank's collectives of one group, in their order.
using Issued = std::vector<const GraphNode*>;

std::map<std::uint32_t, Issued> issued(const StepGraph& step, std::uint32_t rank) {
    std::map<std::uint32_t, Issued> by_group;
    for (const GraphNode& node : step.graph_of(rank).nodes)
        if (node.kind == Kind::collective) by_group[step.ranks[rank].groups[node.channel]].push_back(&node);
    return by_group;
}

/// `other` of another rank is held against those that the first rank of the group issues.
void require_same(const StepGraph& step, const Issued& first, std::uint32_t first_rank, const Issued& own,
                  std::uint32_t rank) {
    const auto tell = [&](const GraphNode& node) {
        return fmt::format("{} of {} bytes (node {})", kernels::name(node.collective), node.bytes, node.id);
    };
    constexpr const char* remedy = "all ranks of a group issue the same collectives, in the order of their ids";
    for (std::size_t i = 0; i < std::min(first.size(), own.size()); ++i)
        if (first[i]->collective != own[i]->collective || first[i]->bytes != own[i]->bytes)
            throw Error(step.ranks[rank].file, "",
                        fmt::format("collective {} of its group is {}, but rank {} has {}", i, tell(*own[i]),
                                    first_rank, tell(*first[i])),
                        remedy);
    if (first.size() != own.size())
        throw Error(step.ranks[rank].file, "",
                    fmt::format("has {} collectives of a group of which rank {} has {}; its last is {}", own.size(),
                                first_rank, first.size(), own.empty() ? "none" : tell(*own.back())),
                    remedy);
}

void check_collectives(const StepGraph& step) {
    std::map<std::uint32_t, std::pair<std::uint32_t, Issued>> first;  // by group: its first rank that issues any
    std::vector<std::uint32_t> ranks(step.groups.size());
    for (std::uint32_t rank = 0; rank < step.ranks.size(); ++rank)
        for (auto& [group, own] : issued(step, rank)) {
            const auto& members = step.groups[group];
            if (!std::ranges::binary_search(members, rank))
                throw Error(
                    step.ranks[rank].file, "",
                    fmt::format("node {} is a collective of a group that rank {} is not in", own.front()->id, rank),
                    "give the groups of this trace, with all their ranks (--groups)");
            ++ranks[group];
            const auto [place, fresh] = first.try_emplace(group, rank, own);
            if (!fresh) require_same(step, place->second.second, place->second.first, own, rank);
        }
    for (const auto& [group, issuer] : first) {
        const auto& members = step.groups[group];
        if (ranks[group] == members.size()) continue;
        for (const std::uint32_t rank : members)
            if (!issued(step, rank).contains(group))
                throw Error(step.ranks[rank].file, "",
                            fmt::format("rank {} has no collective of a group of {} ranks that it is in, and of which "
                                        "rank {} has node {}",
                                        rank, members.size(), issuer.first, issuer.second.front()->id),
                            "all ranks of a group issue its collectives: write the trace anew, or mend --groups");
    }
}

struct Side {
    std::uint32_t from, to, tag, turn;
    const GraphNode* node;
    [[nodiscard]] auto key() const { return std::tuple(from, to, tag, turn); }
};

[[noreturn]] void refuse_alone(const StepGraph& step, const Side& side) {
    const bool sends = side.node->kind == Kind::send;
    throw Error(step.ranks[sends ? side.from : side.to].file, "",
                fmt::format("node {} {} rank {} with tag {}, but node by node nothing there answers it", side.node->id,
                            sends ? "sends to" : "receives from", sends ? side.to : side.from, side.tag),
                "every COMM_SEND_NODE needs a COMM_RECV_NODE of the other rank with the same comm_tag, and the other "
                "way round");
}

void check_messages(const StepGraph& step) {
    std::vector<Side> sent, received;
    for (std::uint32_t rank = 0; rank < step.ranks.size(); ++rank)
        for (const GraphNode& node : step.graph_of(rank).nodes) {
            if (node.kind == Kind::send) sent.push_back({rank, other_end(rank, node), node.channel, node.turn, &node});
            if (node.kind == Kind::receive)
                received.push_back({other_end(rank, node), rank, node.channel, node.turn, &node});
        }
    std::ranges::sort(sent, {}, &Side::key);
    std::ranges::sort(received, {}, &Side::key);
    for (std::size_t i = 0; i < std::max(sent.size(), received.size()); ++i) {
        if (i >= received.size() || (i < sent.size() && sent[i].key() < received[i].key())) refuse_alone(step, sent[i]);
        if (i >= sent.size() || received[i].key() < sent[i].key()) refuse_alone(step, received[i]);
        if (sent[i].node->bytes != received[i].node->bytes)
            throw Error(step.ranks[sent[i].from].file, "",
                        fmt::format("node {} sends {} bytes to rank {}, whose node {} receives {}", sent[i].node->id,
                                    sent[i].node->bytes, sent[i].to, received[i].node->id, received[i].node->bytes),
                        "both sides of a message have one comm_size");
    }
}

}  // namespace

Followers::Followers(const RankGraph& graph) : first_(graph.nodes.size() + 1), after_(graph.waits.size()) {
    for (const std::uint32_t other : graph.waits) ++first_[other + 1];
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) first_[i + 1] += first_[i];
    std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
        for (const std::uint32_t other : graph.waits_of(graph.nodes[i])) after_[next[other]++] = i;
}

double StepGraph::whole_bytes(std::uint32_t rank, const GraphNode& collective) const {
    const auto own = static_cast<double>(collective.bytes);
    const bool gathers = collective.collective == kernels::CollectiveKind::all_gather;
    return gathers ? own * static_cast<double>(group_of(rank, collective).size()) : own;
}

void check(const StepGraph& step) {
    check_circles(step);
    check_collectives(step);
    check_messages(step);
}

std::string describe(const StepGraph& step, std::uint32_t rank, const GraphNode& node) {
    switch (node.kind) {
        case Kind::send: return fmt::format("the message to rank {} with tag {}", other_end(rank, node), node.channel);
        case Kind::receive:
            return fmt::format("the message from rank {} with tag {}", other_end(rank, node), node.channel);
        case Kind::collective:
            return fmt::format("the {} of {} ranks, their collective {}", kernels::name(node.collective),
                               step.group_of(rank, node).size(), node.turn);
        default: return "an operation of its own";
    }
}

}  // namespace orrery::strategies
