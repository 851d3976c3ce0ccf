#include "sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>

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
    : cluster_(cluster),
      predictor_(predictor),
      launch_(predictor.constant("collective_launch_seconds")),
      payload_(predictor.constant("network_efficiency")) {}

std::vector<LinkUse> Network::path(GpuId from, GpuId to) const {
    std::vector<LinkUse> uses;
    if (cluster_.node_of(from) == cluster_.node_of(to)) return uses;
    std::vector<topology::LinkShare> shares;
    cluster_.shares(from, to, shares);
    for (const auto& [link, share] : shares) uses.push_back({link, share});
    return uses;
}

std::vector<LinkUse> Network::tightest(std::span<const LinkUse> path) const {
    if (path.empty()) return {};
    const auto rate = [this](const LinkUse& use) { return capacity(use.link) / use.weight; };
    return {*std::min_element(path.begin(), path.end(),
                              [&](const LinkUse& a, const LinkUse& b) { return rate(a) < rate(b); })};
}

double Network::bottleneck(std::span<const LinkUse> path) const {
    double rate = std::numeric_limits<double>::infinity();
    for (const LinkUse& use : path) rate = std::min(rate, capacity(use.link) / use.weight);
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
    std::vector<std::uint32_t> first;  // position in `group` of each node's first GPU
    for (std::uint32_t i = 0; i < group.size(); ++i)
        if (i == 0 || cluster_.node_of(group[i]) != cluster_.node_of(group[i - 1])) first.push_back(i);
    if (first.size() <= 1) return {};
    first.push_back(static_cast<std::uint32_t>(group.size()));
    const std::size_t nodes = first.size() - 1;
    std::uint32_t rings = first[1];
    for (std::size_t i = 0; i < nodes; ++i) rings = std::min(rings, first[i + 1] - first[i]);
    std::vector<Hop> list;
    list.reserve(nodes * rings);
    for (std::size_t i = 0; i < nodes; ++i)
        for (std::uint32_t ring = 0; ring < rings; ++ring)
            list.push_back({group[first[i] + ring], group[first[(i + 1) % nodes] + ring], 1.0 / rings});
    return list;
}

std::vector<LinkUse> Network::path(std::span<const GpuId> group) const {
    std::vector<LinkUse> all;
    std::vector<topology::LinkShare> shares;
    for (const Hop& hop : hops(group)) {
        cluster_.shares(hop.from, hop.to, shares);
        for (const auto& [link, share] : shares) all.push_back({link, hop.share * share});
    }
    std::sort(all.begin(), all.end(), [](const LinkUse& a, const LinkUse& b) { return a.link < b.link; });
    std::vector<LinkUse> uses;
    for (const LinkUse& use : all) {
        if (uses.empty() || uses.back().link != use.link) uses.push_back({use.link, 0.0});
        uses.back().weight += use.weight;
    }
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
