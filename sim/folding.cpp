#include "sim/folding.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "sim/equitable.hpp"
#include "sim/link_pressure.hpp"

namespace orrery::sim {

namespace {

using strategies::AxisSet;
using strategies::Collective;
using strategies::Send;
using strategies::StepProgram;
using topology::GpuId;

/// A group whose collectives are all smaller than this crosses the network without contending: they are latency.
constexpr std::uint64_t contends_from_bytes = 64 * 1024;

/// What the programs send and reduce, role by role.
struct Traffic {
    std::vector<std::set<Channel>> channels;                // [role]
    std::map<std::uint8_t, std::pair<AxisSet, bool>> sets;  // bits -> set, contends
};

Traffic traffic_of(const StepProgram& step) {
    Traffic traffic;
    for (const strategies::Program& program : step.programs) {
        auto& channels = traffic.channels.emplace_back();
        for (const strategies::Op& op : program.ops) {
            if (const auto* send = std::get_if<Send>(&op.what)) channels.insert({send->axis, send->delta});
            if (const auto* collective = std::get_if<Collective>(&op.what)) {
                auto& entry = traffic.sets[collective->group.bits()];
                entry.first = collective->group;
                entry.second |= collective->bytes >= contends_from_bytes;
            }
        }
    }
    return traffic;
}

struct MessageFlow {
    GpuId from, to;
    Channel channel;
    std::vector<LinkUse> path;
};
struct GroupFlow {
    std::uint8_t set;
    bool contends;
    std::vector<GpuId> gpus;
    std::vector<LinkUse> path;
};

/// Every message and collective of the unfolded step, once.
class Flows {
public:
    Flows(const StepProgram& step, const topology::Cluster& cluster, const Network& network) {
        const Traffic traffic = traffic_of(step);
        LinkPressure pressure(cluster, network);
        const std::uint32_t ranks = step.mesh.ranks();
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            for (const Channel& channel : traffic.channels[step.role[rank]]) {
                const GpuId to = step.mesh.peer(rank, channel.axis, channel.delta);
                messages.push_back({rank, to, channel, network.path(rank, to)});
                pressure.add(rank, to);
            }
        for (const auto& [bits, entry] : traffic.sets)
            for (std::uint32_t rank = 0; rank < ranks; ++rank) {
                auto gpus = step.mesh.group(rank, entry.first);
                if (gpus.front() != rank) continue;
                auto path = network.path(gpus);
                if (entry.second)
                    for (const Network::Hop& hop : network.hops(gpus)) pressure.add(hop.from, hop.to);
                groups.push_back({bits, entry.second, std::move(gpus), std::move(path)});
            }
        for (MessageFlow& flow : messages) pressure.drop_slack(flow.path);
        for (GroupFlow& flow : groups) pressure.drop_slack(flow.path);
    }
    std::vector<MessageFlow> messages;
    std::vector<GroupFlow> groups;
};

/// Ranks, flows and used links as one coloured graph; vertices in that order.
class FoldGraph {
public:
    FoldGraph(const StepProgram& step, const topology::Cluster& cluster, const Flows& flows, bool fold)
        : flows_(flows) {
        ranks_ = step.mesh.ranks();
        for (std::uint32_t rank = 0; rank < ranks_; ++rank)
            graph_.colour.push_back(fold ? colour({0, step.role[rank], 0, 0}) : colour({1, rank, 0, 0}));
        for (const MessageFlow& flow : flows.messages) add_message(flow, cluster);
        for (const GroupFlow& flow : flows.groups) add_group(flow, cluster);
        const auto first_link = static_cast<std::uint32_t>(graph_.colour.size());
        for (std::size_t i = 0; i < links_.size(); ++i) {
            const topology::Link& link = cluster.link(links_[i]);
            const auto rate = label(link.bytes_per_second);
            graph_.colour.push_back(fold ? colour({2, static_cast<std::uint32_t>(link.kind), link.tier, rate})
                                         : colour({3, static_cast<std::uint32_t>(i), 0, 0}));
        }
        for (auto& [vertex, link, weight] : uses_) graph_.edges.push_back({vertex, first_link + link, weight, weight});
        classes_ = equitable_partition(graph_);
    }

    [[nodiscard]] std::uint32_t rank_class(std::uint32_t rank) const { return classes_[rank]; }
    [[nodiscard]] std::uint32_t message_class(std::size_t i) const { return classes_[ranks_ + i]; }
    [[nodiscard]] std::uint32_t group_class(std::size_t i) const {
        return classes_[ranks_ + flows_.messages.size() + i];
    }
    [[nodiscard]] std::uint32_t link_class(std::size_t i) const {
        return classes_[ranks_ + flows_.messages.size() + flows_.groups.size() + i];
    }
    [[nodiscard]] const std::vector<topology::LinkId>& links() const { return links_; }
    [[nodiscard]] std::uint32_t index(topology::LinkId link) const { return link_index_.at(link); }

private:
    using Colour = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

    std::uint32_t colour(const Colour& key) {
        return colours_.try_emplace(key, static_cast<std::uint32_t>(colours_.size())).first->second;
    }
    std::uint32_t label(double value) {
        return labels_.try_emplace(value, static_cast<std::uint32_t>(labels_.size()) + 1000).first->second;
    }
    void cross(std::uint32_t vertex, const std::vector<LinkUse>& path) {
        for (const LinkUse& use : path) {
            const auto [place, fresh] = link_index_.try_emplace(use.link, static_cast<std::uint32_t>(links_.size()));
            if (fresh) links_.push_back(use.link);
            uses_.emplace_back(vertex, place->second, label(use.weight));
        }
    }
    void add_message(const MessageFlow& flow, const topology::Cluster& cluster) {
        const auto vertex = static_cast<std::uint32_t>(graph_.colour.size());
        const auto direction = static_cast<std::uint32_t>(flow.channel.delta + 1'000'000);
        const bool inside = cluster.node_of(flow.from) == cluster.node_of(flow.to);
        graph_.colour.push_back(
            colour({4, static_cast<std::uint32_t>(flow.channel.axis), direction, inside ? 1U : 0U}));
        graph_.edges.push_back({flow.from, vertex, 1, 1});
        graph_.edges.push_back({flow.to, vertex, 2, 2});
        cross(vertex, flow.path);
    }
    void add_group(const GroupFlow& flow, const topology::Cluster& cluster) {
        const auto vertex = static_cast<std::uint32_t>(graph_.colour.size());
        std::set<std::uint32_t> nodes;
        for (const GpuId gpu : flow.gpus) nodes.insert(cluster.node_of(gpu));
        graph_.colour.push_back(colour(
            {5, flow.set, static_cast<std::uint32_t>(flow.gpus.size()), static_cast<std::uint32_t>(nodes.size())}));
        for (const GpuId gpu : flow.gpus) graph_.edges.push_back({gpu, vertex, 10U + flow.set, 10U + flow.set});
        if (flow.contends) cross(vertex, flow.path);
    }

    const Flows& flows_;
    ColouredGraph graph_;
    std::uint32_t ranks_ = 0;
    std::vector<topology::LinkId> links_;
    std::map<topology::LinkId, std::uint32_t> link_index_;
    std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> uses_;  // vertex, link, weight label
    std::map<Colour, std::uint32_t> colours_;
    std::map<double, std::uint32_t> labels_;
    std::vector<std::uint32_t> classes_;
};

/// Turns vertex classes into the dense numbers of a Folding.
class Folder {
public:
    Folder(const StepProgram& step, const Network& network, const Flows& flows, const FoldGraph& graph)
        : step_(step), network_(network), flows_(flows), graph_(graph) {}

    Folding fold() && {
        fold_ranks();
        fold_links();
        fold_messages();
        fold_groups();
        return std::move(folding_);
    }

private:
    void fold_ranks() {
        std::map<std::uint32_t, std::uint32_t> dense;
        for (std::uint32_t rank = 0; rank < step_.mesh.ranks(); ++rank) {
            const auto [place, fresh] =
                dense.try_emplace(graph_.rank_class(rank), static_cast<std::uint32_t>(folding_.classes.size()));
            if (fresh)
                folding_.classes.push_back({rank, 1, step_.role[rank], {}});
            else
                ++folding_.classes[place->second].size;
            folding_.class_of.push_back(place->second);
        }
    }
    void fold_links() {
        std::map<std::uint32_t, std::uint32_t> dense;
        for (std::size_t i = 0; i < graph_.links().size(); ++i) {
            const auto [place, fresh] =
                dense.try_emplace(graph_.link_class(i), static_cast<std::uint32_t>(folding_.capacities.size()));
            if (fresh) {
                folding_.capacities.push_back(network_.capacities()[graph_.links()[i]]);
                folding_.link_members.push_back(0);
                folding_.link_example.push_back(graph_.links()[i]);
            }
            ++folding_.link_members[place->second];
            engine_link_.push_back(place->second);
        }
    }
    [[nodiscard]] std::vector<LinkUse> folded(const std::vector<LinkUse>& path, std::uint32_t flows) const {
        std::map<std::uint32_t, double> weight;
        for (const LinkUse& use : path) {
            const std::uint32_t link = engine_link_[graph_.index(use.link)];
            weight[link] += use.weight * flows / folding_.link_members[link];
        }
        std::vector<LinkUse> uses;
        for (const auto& [link, share] : weight) uses.push_back({link, share});
        return uses;
    }
    void fold_messages() {
        std::map<std::uint32_t, std::uint32_t> members;
        for (std::size_t i = 0; i < flows_.messages.size(); ++i) ++members[graph_.message_class(i)];
        for (std::size_t i = 0; i < flows_.messages.size(); ++i) {
            const MessageFlow& flow = flows_.messages[i];
            const std::uint32_t sender = folding_.class_of[flow.from];
            const auto [place, fresh] = folding_.messages.try_emplace({sender, flow.channel});
            if (fresh)
                place->second = {folding_.class_of[flow.to], flow.from, flow.to,
                                 folded(flow.path, members[graph_.message_class(i)]), flow.path};
        }
    }
    void fold_groups() {
        std::map<std::uint32_t, std::uint32_t> members, dense;
        for (std::size_t i = 0; i < flows_.groups.size(); ++i) ++members[graph_.group_class(i)];
        for (std::size_t i = 0; i < flows_.groups.size(); ++i) {
            const GroupFlow& flow = flows_.groups[i];
            const auto [place, fresh] =
                dense.try_emplace(graph_.group_class(i), static_cast<std::uint32_t>(folding_.groups.size()));
            if (!fresh) continue;
            std::set<std::uint32_t> classes;
            for (const GpuId gpu : flow.gpus) classes.insert(folding_.class_of[gpu]);
            for (const std::uint32_t member : classes) folding_.group_of[{member, flow.set}] = place->second;
            const auto uses =
                flow.contends ? folded(flow.path, members[graph_.group_class(i)]) : std::vector<LinkUse>{};
            folding_.groups.push_back({{classes.begin(), classes.end()}, flow.gpus, uses, flow.path});
        }
    }

    const StepProgram& step_;
    const Network& network_;
    const Flows& flows_;
    const FoldGraph& graph_;
    Folding folding_;
    std::vector<std::uint32_t> engine_link_;  // used link -> engine link
};

}  // namespace

Folding fold_ranks(const StepProgram& step, const topology::Cluster& cluster, const Network& network, bool fold) {
    const Flows flows(step, cluster, network);
    const FoldGraph graph(step, cluster, flows, fold);
    return Folder(step, network, flows, graph).fold();
}

}  // namespace orrery::sim
