#include "topology/node.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <compare>
#include <limits>

namespace orrery::topology {

namespace {

/// Fewest links first, then the widest of them: the seconds one byte takes, link by link.
struct Cost {
    std::uint32_t hops = 0;
    double seconds_per_byte = 0;
    auto operator<=>(const Cost&) const = default;
};
struct Edge {
    Cost cost;
    std::uint32_t link = 0;
};
using NodeGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;

/// Along a path; what cannot be reached stays so.
struct Add {
    Cost operator()(const Cost& a, const Cost& b) const {
        return {a.hops + b.hops, a.seconds_per_byte + b.seconds_per_byte};
    }
};

bool is_pcie(LinkKind kind) { return kind == LinkKind::pcie; }
bool is_any(LinkKind) { return true; }

/// Links of the kinds that are taken.
NodeGraph graph_of(const NodePlan& node, bool (*taken)(LinkKind)) {
    NodeGraph graph(node.vertices().size());
    for (std::uint32_t i = 0; i < node.links().size(); ++i) {
        const auto& [from, to, link] = node.links()[i];
        if (!taken(link.kind)) continue;
        boost::add_edge(from, to, Edge{{1, 1 / link.bytes_per_second}, i}, graph);
    }
    return graph;
}

/// For every vertex the best path from `source`; empty where there is none.
std::vector<NodePlan::Path> paths_from(const NodeGraph& graph, std::uint32_t source) {
    const auto count = boost::num_vertices(graph);
    std::vector<NodeGraph::vertex_descriptor> before(count);
    std::vector<Cost> cost(count);
    const Cost unreachable{std::numeric_limits<std::uint32_t>::max() / 2, 0};
    boost::dijkstra_shortest_paths(
        graph, source,
        boost::weight_map(boost::get(&Edge::cost, graph))
            .predecessor_map(boost::make_iterator_property_map(before.begin(), boost::get(boost::vertex_index, graph)))
            .distance_map(boost::make_iterator_property_map(cost.begin(), boost::get(boost::vertex_index, graph)))
            .distance_compare(std::less<>{})
            .distance_combine(Add{})
            .distance_inf(unreachable)
            .distance_zero(Cost{}));
    std::vector<NodePlan::Path> paths(count);
    for (std::size_t v = 0; v < count; ++v) {
        for (auto at = v; before[at] != at; at = before[at]) {
            paths[v].push_back(graph[boost::edge(before[at], at, graph).first].link);
        }
        paths[v] = {paths[v].rbegin(), paths[v].rend()};
    }
    return paths;
}

}  // namespace

NodePlan::NodePlan(std::uint32_t gpus, std::uint32_t nics) : gpus_(gpus), nics_(nics) {
    vertices_.assign(gpus, VertexKind::gpu);
    vertices_.insert(vertices_.end(), nics, VertexKind::nic);
}

NodePlan NodePlan::chip() {
    NodePlan node(1, 0);
    node.nics_ = 1;
    node.on_chip_ = true;
    node.finish();
    return node;
}

std::uint32_t NodePlan::add(VertexKind kind) {
    vertices_.push_back(kind);
    return static_cast<std::uint32_t>(vertices_.size() - 1);
}

void NodePlan::connect(std::uint32_t a, std::uint32_t b, const Link& link) {
    links_.push_back({a, b, link});
    links_.push_back({b, a, link});
}

void NodePlan::finish() {
    const NodeGraph over_direct = graph_of(*this, joins_gpus), over_pcie = graph_of(*this, is_pcie);
    const NodeGraph whole = graph_of(*this, is_any);
    between_.assign(std::size_t{gpus_} * gpus_, {});
    out_.assign(gpus_, {});
    in_.assign(gpus_, {});
    to_host_.assign(gpus_, {});
    // NVLink or xGMI where it reaches, else any way; to the NIC over PCIe where it reaches, else through another GPU.
    for (std::uint32_t from = 0; from < gpus_; ++from) {
        const auto direct = paths_from(over_direct, from), any = paths_from(whole, from);
        const auto host = paths_from(over_pcie, from);
        for (std::uint32_t to = 0; to < gpus_; ++to) {
            between_[from * gpus_ + to] = direct[to].empty() ? any[to] : direct[to];
        }
        const std::uint32_t nic = nic_vertex(nic_of(from));
        out_[from] = host[nic].empty() ? any[nic] : host[nic];
        for (std::uint32_t v = 0; v < vertices_.size(); ++v)
            if (vertices_[v] == VertexKind::cpu && !host[v].empty() &&
                (to_host_[from].empty() || host[v].size() < to_host_[from].size()))
                to_host_[from] = host[v];
    }
    for (std::uint32_t nic = 0; nic < nics_; ++nic) {
        const auto host = paths_from(over_pcie, nic_vertex(nic)), any = paths_from(whole, nic_vertex(nic));
        for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu) {
            if (nic_of(gpu) == nic) in_[gpu] = host[gpu].empty() ? any[gpu] : host[gpu];
        }
    }
}

bool NodePlan::paths_alike() const {
    std::vector<bool> taken(links_.size());
    const auto alike = [&](const Path& path, const Path& model) {
        if (path.size() != model.size()) return false;
        for (std::size_t i = 0; i < path.size(); ++i) {
            if (taken[path[i]]) return false;
            taken[path[i]] = true;
            if (links_[path[i]].link.bytes_per_second != links_[model[i]].link.bytes_per_second) return false;
        }
        return true;
    };
    for (std::uint32_t gpu = 0; gpu < gpus_; ++gpu)
        if (!alike(out_[gpu], out_[0]) || !alike(in_[gpu], in_[0])) return false;
    return true;
}

bool NodePlan::has_nvswitch() const { return std::ranges::find(vertices_, VertexKind::nvswitch) != vertices_.end(); }

double NodePlan::ring_bytes_per_second(std::uint32_t ranks) const {
    ranks = std::min(ranks, gpus_);
    if (ranks < 2) return 0;
    std::vector<double> rate(ranks);
    for (const auto& [from, to, link] : links_)
        if (joins_gpus(link.kind) && from < ranks && (to >= gpus_ || to < ranks)) rate[from] += link.bytes_per_second;
    return *std::ranges::min_element(rate);
}

double NodePlan::gpu_bytes_per_second() const {
    double direct = 0, pcie = 0;
    for (const auto& [from, to, link] : links_) {
        if (from == 0) (joins_gpus(link.kind) ? direct : pcie) += link.bytes_per_second;
    }
    return direct > 0 ? direct : pcie;
}

}  // namespace orrery::topology
