#include "sim/fold_graph.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/equitable.hpp"

namespace orrery::sim {

namespace {

/// Labels of edges other than weights: the ends of a message, and the members of a group by its set.
constexpr std::uint32_t sends = 1, receives = 2, first_set = 10, first_weight = 1000;

/// Vertices are columns, messages and groups of each job, then background flows, then links.
class GraphMaker {
public:
    GraphMaker(const SharedFlows& flows, const std::vector<Traffic>& traffic, const topology::Cluster& cluster,
               const Network& network, const Marks& marks)
        : flows_(flows), traffic_(traffic), cluster_(cluster), network_(network), marks_(marks) {
        std::size_t edges = 0;
        for (const Flows& job : flows.jobs) {
            first_link_ += job.columns().count + messages(job) + groups(job);
            for (const Flows::Message& message : job.messages())
                edges += 2 + (message.hop == Flows::no_hop ? 0 : flows.hops.links(message.hop).size());
            for (const Flows::Group& group : job.groups()) {
                edges += group.members;
                for (std::uint32_t hop = group.first_hop; hop < group.first_hop + group.hops; ++hop)
                    edges += flows.hops.links(hop).size();
            }
        }
        first_link_ += static_cast<std::uint32_t>(flows.background.size());
        graph_.colour.reserve(first_link_ + flows.hops.used_links());
        graph_.edges.reserve(edges);
    }

    FlowClasses partition() && {
        for (std::uint32_t job = 0; job < flows_.jobs.size(); ++job) add_job(job);
        for (std::size_t i = 0; i < flows_.background.size(); ++i)
            add_background(marks_.background[i], flows_.background[i]);
        add_links();
        const std::vector<std::uint32_t> classes = equitable_partition(graph_);
        auto at = classes.begin();
        const auto take = [&](std::size_t count) {
            const auto first = std::exchange(at, at + static_cast<std::ptrdiff_t>(count));
            return std::vector<std::uint32_t>(first, at);
        };
        FlowClasses result;
        for (const Flows& job : flows_.jobs) {
            FlowClasses::Job& of_job = result.jobs.emplace_back();
            of_job.column = take(job.columns().count);
            of_job.message = take(messages(job));
            of_job.group = take(groups(job));
        }
        result.background = take(flows_.background.size());
        result.link = take(flows_.hops.used_links());
        return result;
    }

private:
    /// Kind of vertex, job, and what tells those of a kind apart.
    using Colour = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, double, std::uint32_t>;

    static std::uint32_t messages(const Flows& job) { return static_cast<std::uint32_t>(job.messages().size()); }
    static std::uint32_t groups(const Flows& job) { return static_cast<std::uint32_t>(job.groups().size()); }

    std::uint32_t colour(const Colour& key) {
        return colours_.try_emplace(key, static_cast<std::uint32_t>(colours_.size())).first->second;
    }
    std::uint32_t weight(double value) {
        return weights_.try_emplace(value, first_weight + static_cast<std::uint32_t>(weights_.size())).first->second;
    }
    void join(std::uint32_t a, std::uint32_t b, std::uint32_t label) { graph_.edges.push_back({a, b, label, label}); }
    [[nodiscard]] std::uint32_t next_vertex() const { return static_cast<std::uint32_t>(graph_.colour.size()); }

    void add_job(std::uint32_t job) {
        const Flows& flows = flows_.jobs[job];
        const std::uint32_t first_column = next_vertex();
        for (std::uint32_t column = 0; column < flows.columns().count; ++column) {
            const std::uint32_t rank = flows.columns().first_rank(column), mark = job == 0 ? marks_.of_rank(rank) : 0;
            const std::uint32_t kind = network_.kinds().of(traffic_[job].gpu(rank));
            graph_.colour.push_back(colour({0, job, traffic_[job].role[rank], mark, 0.0, kind}));
        }
        for (const Flows::Message& message : flows.messages()) add_message(job, first_column, message);
        for (const Flows::Group& group : flows.groups()) add_group(job, first_column, group);
    }
    void add_message(std::uint32_t job, std::uint32_t first_column, const Flows::Message& message) {
        const std::uint32_t vertex = next_vertex(), inside = message.hop == Flows::no_hop ? 1 : 0;
        graph_.colour.push_back(colour({1, job, message.channel, inside, 0.0, 0}));
        join(first_column + message.from, vertex, sends);
        join(first_column + message.to, vertex, receives);
        flows_.jobs[job].each_link(
            message, [&](std::uint32_t link, double share) { join(vertex, first_link_ + link, weight(share)); });
    }
    /// Groups that do not contend differ by what they could get alone; those that do by the links they share.
    void add_group(std::uint32_t job, std::uint32_t first_column, const Flows::Group& group) {
        const Flows& flows = flows_.jobs[job];
        const std::uint32_t vertex = next_vertex();
        const auto path = flows.path(group);
        const bool contends = traffic_[job].sets[group.set].contends;
        double alone = 0;
        if (!contends)
            for (const LinkUse& use : path)
                alone = std::max(alone, use.weight / network_.capacity(flows_.hops.link(use.link)));
        graph_.colour.push_back(colour({2, job, group.set, group.nodes, alone, group.rails}));
        for (const std::uint32_t column : flows.members(group))
            join(first_column + column, vertex, first_set + group.set);
        if (!contends) return;
        for (const LinkUse& use : path) join(vertex, first_link_ + use.link, weight(use.weight));
    }
    void add_background(const scenarios::BackgroundFlow& flow, std::uint32_t hop) {
        const std::uint32_t vertex = next_vertex();
        const auto window = windows_.try_emplace({flow.when.from, flow.when.to}, windows_.size()).first->second;
        graph_.colour.push_back(colour({4, 0, static_cast<std::uint32_t>(window), 0, flow.bytes_per_second, 0}));
        flows_.hops.each_link(
            hop, [&](std::uint32_t link, double share) { join(vertex, first_link_ + link, weight(share)); });
    }
    void add_links() {
        for (std::uint32_t i = 0; i < flows_.hops.used_links(); ++i) {
            const topology::LinkId id = flows_.hops.link(i);
            const topology::Link link = cluster_.link(id);
            graph_.colour.push_back(colour({3, 0, static_cast<std::uint32_t>(link.kind), link.tier,
                                            link.bytes_per_second, marks_.of_link(id, cluster_.first_fabric_link())}));
        }
    }

    const SharedFlows& flows_;
    const std::vector<Traffic>& traffic_;
    const topology::Cluster& cluster_;
    const Network& network_;
    const Marks& marks_;
    std::uint32_t first_link_ = 0;
    ColouredGraph graph_;
    std::map<Colour, std::uint32_t> colours_;
    std::map<double, std::uint32_t> weights_;
    std::map<std::pair<double, double>, std::size_t> windows_;
};

std::vector<std::uint32_t> numbers(std::size_t count) {
    std::vector<std::uint32_t> list(count);
    std::iota(list.begin(), list.end(), 0U);
    return list;
}

}  // namespace

FlowClasses equitable_classes(const SharedFlows& flows, const std::vector<Traffic>& traffic,
                              const topology::Cluster& cluster, const Network& network, const Marks& marks) {
    return GraphMaker(flows, traffic, cluster, network, marks).partition();
}

FlowClasses single_classes(const SharedFlows& flows) {
    FlowClasses classes;
    for (const Flows& job : flows.jobs)
        classes.jobs.push_back(
            {numbers(job.columns().count), numbers(job.messages().size()), numbers(job.groups().size())});
    classes.background = numbers(flows.background.size());
    classes.link = numbers(flows.hops.used_links());
    return classes;
}

}  // namespace orrery::sim
