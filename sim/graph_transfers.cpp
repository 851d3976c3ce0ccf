#include "sim/graph_transfers.hpp"

#include <algorithm>
#include <tuple>

#include "sim/traffic.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;
using strategies::GraphNode;

GraphTransfers::GraphTransfers(const strategies::StepGraph& step, const Network& network)
    : step_(step), network_(network), groups_(step.groups.size()), contends_(step.groups.size()) {
    for (std::uint32_t rank = 0; rank < step.ranks.size(); ++rank)
        for (const GraphNode& node : step.graph_of(rank).nodes)
            if (node.kind == GraphNode::Kind::collective && step.whole_bytes(rank, node) >= contends_from_bytes)
                contends_[step.ranks[rank].groups[node.channel]] = true;
}

GraphTransfers::Number GraphTransfers::fresh() {
    if (free_.empty()) {
        meetings_.emplace_back();
        return static_cast<Number>(meetings_.size() - 1);
    }
    const Number number = free_.back();
    free_.pop_back();
    meetings_[number].parties.clear();
    return number;
}

std::optional<GraphTransfers::Number> GraphTransfers::post(const GraphNode& node, const Party& party) {
    return node.kind == GraphNode::Kind::collective ? join(node, party) : meet(node, party);
}

void GraphTransfers::set_out(Group& group, std::uint32_t number) {
    group.gpus.assign(step_.groups[number].begin(), step_.groups[number].end());
    group.nodes = network_.spread_of(group.gpus).nodes;
    std::vector<LinkUse> path = network_.path(group.gpus);
    group.alone = network_.tightest(path);
    if (contends_[number]) group.links = std::move(path);
}

std::uint32_t GraphTransfers::use(const TransferUse& like) {
    const auto [place, made] = use_number_.try_emplace({like.kind, like.ranks, like.nodes, like.bytes},
                                                       static_cast<std::uint32_t>(uses_.size()));
    if (made) uses_.push_back(like);
    return place->second;
}

const GraphTransfers::Cost& GraphTransfers::cost(Group& group, CollectiveKind kind, double bytes) {
    const auto [place, made] = group.costs.try_emplace({kind, bytes});
    Cost& cost = place->second;
    if (!made) return cost;
    const auto ranks = static_cast<std::uint32_t>(group.gpus.size());
    cost.transfer = network_.collective(kind, group.gpus, bytes, group.alone);
    cost.alone = network_.alone(cost.transfer, group.alone);
    cost.use = use({kind, ranks, group.nodes, bytes});
    return cost;
}

const GraphTransfers::Cost& GraphTransfers::cost(Way& way, const MessageKey& key, std::uint64_t bytes) {
    const auto [place, made] = way.costs.try_emplace(bytes);
    Cost& cost = place->second;
    if (!made) return cost;
    const auto size = static_cast<double>(bytes);
    cost.transfer = network_.message(key.from, key.to, size);
    cost.alone = network_.alone(cost.transfer, way.links);
    cost.use = use({CollectiveKind::send_recv, 2, way.links.empty() ? 1U : 2U, size});
    return cost;
}

std::optional<GraphTransfers::Number> GraphTransfers::join(const GraphNode& node, const Party& party) {
    const std::uint32_t number = step_.ranks[party.rank].groups[node.channel];
    Group& group = groups_[number];
    if (group.gpus.empty()) set_out(group, number);
    const auto [place, first] = group.gathering.try_emplace(node.turn, 0);
    if (first) place->second = fresh();
    const Number gathering = place->second;
    Meeting& meeting = meetings_[gathering];
    meeting.parties.push_back(party);
    if (meeting.parties.size() < group.gpus.size()) return std::nullopt;
    group.gathering.erase(place);
    meeting.cost = &cost(group, node.collective, step_.whole_bytes(party.rank, node));
    meeting.links = group.links;
    meeting.gpus = group.gpus;
    meeting.group = number;
    meeting.collective = true;
    if (group.busy) {
        group.complete.push_back(gathering);
        return std::nullopt;
    }
    group.busy = true;
    return gathering;
}

std::optional<GraphTransfers::Number> GraphTransfers::meet(const GraphNode& node, const Party& party) {
    const bool sends = node.kind == GraphNode::Kind::send;
    const std::uint32_t other = strategies::StepGraph::other_end(party.rank, node);
    const MessageKey key{sends ? party.rank : other, sends ? other : party.rank, node.channel, node.turn};
    const auto [place, first] = met_.try_emplace(key, 0);
    if (first) {
        place->second = fresh();
        meetings_[place->second].parties.push_back(party);
        return std::nullopt;
    }
    const Number number = place->second;
    met_.erase(place);
    const auto [way, made] = ways_.try_emplace(std::uint64_t{key.from} << 32U | key.to);
    if (made) way->second.links = network_.path(key.from, key.to);
    Meeting& meeting = meetings_[number];
    meeting.parties.push_back(party);
    meeting.cost = &cost(way->second, key, node.bytes);
    meeting.links = way->second.links;
    meeting.gpus = {};
    meeting.group = no_group;
    meeting.collective = false;
    return number;
}

void GraphTransfers::begin(Number number, double now) {
    Meeting& meeting = meetings_[number];
    meeting.begin = now;
    double waited = 0;
    for (const Party& party : meeting.parties) waited += now - party.ready;
    uses_[meeting.cost->use].waited += waited / static_cast<double>(meeting.parties.size());
}

std::optional<GraphTransfers::Number> GraphTransfers::end(Number number, double now) {
    const Meeting& meeting = meetings_[number];
    TransferUse& use = uses_[meeting.cost->use];
    ++use.count;
    use.seconds += now - meeting.begin;
    use.alone += meeting.cost->alone;
    free_.push_back(number);
    if (meeting.group == no_group) return std::nullopt;
    Group& group = groups_[meeting.group];
    group.busy = !group.complete.empty();
    if (!group.busy) return std::nullopt;
    const Number next = group.complete.front();
    group.complete.pop_front();
    return next;
}

std::vector<TransferUse> GraphTransfers::uses() const {
    std::vector<TransferUse> list = uses_;
    std::ranges::stable_sort(list, std::ranges::greater{}, &TransferUse::seconds);
    return list;
}

std::optional<GraphTransfers::Party> GraphTransfers::stuck() const {
    std::optional<Party> lowest;
    const auto look = [&](Number number) {
        for (const Party& party : meetings_[number].parties)
            if (!lowest || party.rank < lowest->rank) lowest = party;
    };
    for (const auto& [key, number] : met_) look(number);
    for (const Group& group : groups_)
        for (const auto& [turn, number] : group.gathering) look(number);
    return lowest;
}

std::vector<std::uint32_t> GraphTransfers::missing(const Party& party) const {
    const GraphNode& node = step_.graph_of(party.rank).nodes[party.node];
    if (node.kind != GraphNode::Kind::collective) return {strategies::StepGraph::other_end(party.rank, node)};
    const std::uint32_t number = step_.ranks[party.rank].groups[node.channel];
    const auto& parties = meetings_[groups_[number].gathering.at(node.turn)].parties;
    std::vector<std::uint32_t> ranks;
    for (const std::uint32_t rank : step_.groups[number])
        if (std::ranges::find(parties, rank, &Party::rank) == parties.end()) ranks.push_back(rank);
    return ranks;
}

}  // namespace orrery::sim
