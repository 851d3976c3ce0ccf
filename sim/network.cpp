#include "sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.hpp"
#include "sim/collective/nccl_tuning.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;
using topology::GpuId;

struct Network::Choice {
    CollectiveOption option;
    Transfer transfer;
};

namespace {

/// Size at which a node's collective has reached its bandwidth: the largest of the nccl-tests tables.
constexpr double saturating_bytes = 512.0 * 1024 * 1024;

/// Bytes on the ring of one collective: the bus traffic of nccl-tests.
double wire_bytes(CollectiveKind kind, std::uint32_t ranks, double bytes) {
    return kernels::bus_factor(kind, ranks) * bytes;
}

}  // namespace

Network::Network(const topology::Cluster& cluster, const calibrate::Predictor& predictor)
    : cluster_(cluster), predictor_(predictor), launch_(predictor.constant("collective_launch_seconds")) {
    const double payload = predictor.constant("network_efficiency");
    capacity_.reserve(cluster.links());
    for (topology::LinkId id = 0; id < cluster.links(); ++id) {
        const topology::Link& link = cluster.link(id);
        capacity_.push_back(link.bytes_per_second * (link.tier == 0 ? 1.0 : payload));
    }
}

std::vector<LinkUse> Network::path(GpuId from, GpuId to) const {
    std::vector<LinkUse> uses;
    if (cluster_.node_of(from) == cluster_.node_of(to)) return uses;
    std::vector<topology::LinkShare> shares;
    cluster_.shares(from, to, shares);
    for (const auto& [link, share] : shares) uses.push_back({link, share});
    return uses;
}

double Network::bottleneck(std::span<const LinkUse> path) const {
    double rate = std::numeric_limits<double>::infinity();
    for (const LinkUse& use : path) rate = std::min(rate, capacity_[use.link] / use.weight);
    return rate;
}

double Network::alone(const Transfer& transfer, std::span<const LinkUse> path) const {
    if (transfer.bytes <= 0) return transfer.latency;
    return transfer.latency + transfer.bytes / std::min(transfer.rate_limit, bottleneck(path));
}

Transfer Network::message(GpuId from, GpuId to, double bytes) const {
    if (cluster_.node_of(from) == cluster_.node_of(to))
        return {.latency =
                    launch_ + (from == to ? 0.0 : predictor_.collective(CollectiveKind::send_recv, 2, bytes).seconds)};
    const CollectiveOption option = nccl_options(CollectiveKind::send_recv, 2, 2).front();
    return {.latency = launch_ + option.latency_seconds, .bytes = bytes};
}

std::uint32_t Network::nodes_of(std::span<const GpuId> group) const {
    std::uint32_t nodes = 0, last = 0;
    for (const GpuId gpu : group) {
        const std::uint32_t node = cluster_.node_of(gpu);
        if (nodes == 0 || node != last) ++nodes;
        last = node;
    }
    return nodes;
}

std::vector<Network::Hop> Network::hops(std::span<const GpuId> group) const {
    if (nodes_of(group) <= 1) return {};
    std::vector<std::vector<GpuId>> by_node;
    for (const GpuId gpu : group) {
        if (by_node.empty() || cluster_.node_of(by_node.back().front()) != cluster_.node_of(gpu))
            by_node.emplace_back();
        by_node.back().push_back(gpu);
    }
    std::size_t rings = by_node.front().size();
    for (const auto& node : by_node) rings = std::min(rings, node.size());
    std::vector<Hop> list;
    for (std::size_t i = 0; i < by_node.size(); ++i) {
        const auto& next = by_node[(i + 1) % by_node.size()];
        for (std::size_t ring = 0; ring < rings; ++ring)
            list.push_back({by_node[i][ring], next[ring], 1.0 / static_cast<double>(rings)});
    }
    return list;
}

std::vector<LinkUse> Network::path(std::span<const GpuId> group) const {
    std::map<topology::LinkId, double> weight;
    std::vector<topology::LinkShare> shares;
    for (const Hop& hop : hops(group)) {
        cluster_.shares(hop.from, hop.to, shares);
        for (const auto& [link, share] : shares) weight[link] += hop.share * share;
    }
    std::vector<LinkUse> uses;
    for (const auto& [link, share] : weight) uses.push_back({link, share});
    return uses;
}

Network::Choice Network::choose(CollectiveKind kind, std::span<const GpuId> group, double bytes,
                                std::span<const LinkUse> path) const {
    const auto ranks = static_cast<std::uint32_t>(group.size());
    const std::uint32_t nodes = nodes_of(group);
    const std::uint32_t local = ranks / nodes;
    double inside = std::numeric_limits<double>::infinity();
    if (local > 1)
        inside =
            wire_bytes(kind, local, saturating_bytes) / predictor_.collective(kind, local, saturating_bytes).seconds;
    Choice best;
    double least = std::numeric_limits<double>::infinity();
    for (const CollectiveOption& option : nccl_options(kind, ranks, nodes)) {
        double wire = wire_bytes(kind, ranks, bytes) / option.efficiency;
        // All-to-all: what stays in the node does not use the ring's links; all the rest of every local rank does.
        if (kind == CollectiveKind::all_to_all) wire = bytes * (ranks - local) / ranks * local;
        const Transfer transfer{launch_ + option.latency_seconds, wire, std::min(inside, option.max_bytes_per_second)};
        const double time = alone(transfer, path);
        if (time < least) {
            least = time;
            best = {option, transfer};
        }
    }
    return best;
}

Transfer Network::collective(CollectiveKind kind, std::span<const GpuId> group, double bytes,
                             std::span<const LinkUse> path) const {
    if (group.size() <= 1) return {};
    if (nodes_of(group) == 1)
        return {.latency =
                    launch_ + predictor_.collective(kind, static_cast<std::uint32_t>(group.size()), bytes).seconds};
    return choose(kind, group, bytes, path).transfer;
}

std::string Network::explain(CollectiveKind kind, std::span<const GpuId> group, double bytes) const {
    const auto ranks = static_cast<std::uint32_t>(group.size());
    if (ranks <= 1) return "one rank: nothing to move";
    if (nodes_of(group) == 1) return predictor_.explain(kind, ranks, bytes);
    const auto uses = path(group);
    const Choice choice = choose(kind, group, bytes, uses);
    return fmt::format(
        "{} ranks on {} nodes: {} with {}, {} latency, {:.0f} bytes of ring traffic at most at {:.1f} GB/s", ranks,
        nodes_of(group), choice.option.algorithm, choice.option.protocol, format_seconds(choice.transfer.latency),
        choice.transfer.bytes, std::min(choice.transfer.rate_limit, bottleneck(uses)) / 1e9);
}

}  // namespace orrery::sim
