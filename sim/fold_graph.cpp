#include "sim/fold_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/equitable.hpp"

namespace orrery::sim {

namespace {

/// Labels of edges other than weights: the ends of a message, and the members of a group by its set.
constexpr std::uint32_t sends = 1, receives = 2, first_set = 10, first_weight = 1000;

/// Vertices are columns, messages, groups and links, in that order.
class GraphMaker {
public:
    GraphMaker(const Flows& flows, const Traffic& traffic, const topology::Cluster& cluster, const Network& network,
               const Marks& marks)
        : flows_(flows), traffic_(traffic), cluster_(cluster), network_(network), marks_(marks) {
        columns_ = flows.columns().count;
        messages_ = static_cast<std::uint32_t>(flows.messages().size());
        groups_ = static_cast<std::uint32_t>(flows.groups().size());
        first_link_ = columns_ + messages_ + groups_;
        graph_.colour.reserve(first_link_ + flows.hops().used_links());
        graph_.edges.reserve(4 * std::size_t{messages_} + 4 * std::size_t{columns_});
    }

    FlowClasses partition() && {
        add_columns();
        for (std::uint32_t i = 0; i < messages_; ++i) add_message(columns_ + i, flows_.messages()[i]);
        for (std::uint32_t i = 0; i < groups_; ++i) add_group(columns_ + messages_ + i, flows_.groups()[i]);
        add_links();
        const std::vector<std::uint32_t> classes = equitable_partition(graph_);
        const auto at = [&](std::uint32_t i) { return classes.begin() + i; };
        return {{at(0), at(columns_)},
                {at(columns_), at(columns_ + messages_)},
                {at(columns_ + messages_), at(first_link_)},
                {at(first_link_), classes.end()}};
    }

private:
    using Colour = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, double, std::uint32_t>;

    std::uint32_t colour(const Colour& key) {
        return colours_.try_emplace(key, static_cast<std::uint32_t>(colours_.size())).first->second;
    }
    std::uint32_t weight(double value) {
        return weights_.try_emplace(value, first_weight + static_cast<std::uint32_t>(weights_.size())).first->second;
    }
    void join(std::uint32_t a, std::uint32_t b, std::uint32_t label) { graph_.edges.push_back({a, b, label, label}); }

    void add_columns() {
        for (std::uint32_t column = 0; column < columns_; ++column) {
            const std::uint32_t rank = flows_.columns().first_rank(column);
            const std::uint32_t kind = network_.kinds().of(traffic_.gpu(rank));
            graph_.colour.push_back(colour({0, traffic_.role[rank], marks_.of_rank(rank), 0.0, kind}));
        }
    }
    void add_message(std::uint32_t vertex, const Flows::Message& message) {
        const std::uint32_t inside = message.hop == Flows::no_hop ? 1 : 0;
        graph_.colour.push_back(colour({1, message.channel, inside, 0.0, 0}));
        join(message.from, vertex, sends);
        join(message.to, vertex, receives);
        flows_.each_link(message,
                         [&](std::uint32_t link, double share) { join(vertex, first_link_ + link, weight(share)); });
    }
    /// Groups that do not contend differ by what they could get alone; those that do by the links they share.
    void add_group(std::uint32_t vertex, const Flows::Group& group) {
        const auto path = flows_.path(group);
        const bool contends = traffic_.sets[group.set].contends;
        double alone = 0;
        if (!contends)
            for (const LinkUse& use : path)
                alone = std::max(alone, use.weight / network_.capacity(flows_.hops().link(use.link)));
        graph_.colour.push_back(colour({2, group.set, group.nodes, alone, group.rails}));
        for (const std::uint32_t column : flows_.members(group)) join(column, vertex, first_set + group.set);
        if (!contends) return;
        for (const LinkUse& use : path) join(vertex, first_link_ + use.link, weight(use.weight));
    }
    void add_links() {
        for (std::uint32_t i = 0; i < flows_.hops().used_links(); ++i) {
            const topology::Link link = cluster_.link(flows_.hops().link(i));
            graph_.colour.push_back(colour({3, static_cast<std::uint32_t>(link.kind), link.tier, link.bytes_per_second,
                                            marks_.of_link(flows_.hops().link(i), cluster_.first_fabric_link())}));
        }
    }

    const Flows& flows_;
    const Traffic& traffic_;
    const topology::Cluster& cluster_;
    const Network& network_;
    const Marks& marks_;
    std::uint32_t columns_, messages_, groups_, first_link_;
    ColouredGraph graph_;
    std::map<Colour, std::uint32_t> colours_;
    std::map<double, std::uint32_t> weights_;
};

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> list(count);
    std::iota(list.begin(), list.end(), 0U);
    return list;
}

}  // namespace

FlowClasses equitable_classes(const Flows& flows, const Traffic& traffic, const topology::Cluster& cluster,
                              const Network& network, const Marks& marks) {
    return GraphMaker(flows, traffic, cluster, network, marks).partition();
}

FlowClasses single_classes(const Flows& flows) {
    return {numbers(flows.columns().count), numbers(flows.messages().size()), numbers(flows.groups().size()),
            numbers(flows.hops().used_links())};
}

}  // namespace orrery::sim
