#include "sim/collective/pricing.hpp"

#include <algorithm>
#include <cmath>

#include "sim/collective/proxies.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;

namespace {

/// Size at which a node's collective has reached its bandwidth: the largest of the nccl-tests tables.
constexpr double saturating_bytes = 512.0 * 1024 * 1024;

std::uint32_t local_ranks(const Shape& shape) { return std::max(1U, shape.ranks / shape.nodes); }

std::vector<std::uint32_t> nodes_of(const Kinds& kinds, std::span<const std::uint32_t> numbers) {
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t number : numbers) nodes.push_back(kinds[number].node);
    return nodes;
}

}  // namespace

Pricer::Pricer(const topology::Cluster& cluster, const Kinds& kinds, std::span<const std::uint32_t> numbers,
               topology::GpuId from, topology::GpuId to)
    : machine_(machine_of(cluster, from, to, nodes_of(kinds, numbers))) {
    for (const std::uint32_t number : numbers) {
        kinds_.push_back({kinds[number].predictor, &cluster.plan_of(kinds[number].node)});
        const auto& constants = kinds_.back().profile->profile().constants;
        if (const auto found = constants.find("host_message_seconds"); found != constants.end())
            machine_.host_message_seconds = std::max(machine_.host_message_seconds, found->second.value);
    }
}

double Pricer::inside_node(CollectiveKind kind, std::uint32_t ranks, double bytes) const {
    double slowest = 0;
    for (const auto& [profile, node] : kinds_)
        slowest =
            std::max(slowest, profile->collective(kind, ranks, bytes, node->ring_bytes_per_second(ranks)).seconds);
    return slowest;
}

std::string Pricer::explain_inside(CollectiveKind kind, std::uint32_t ranks, double bytes) const {
    const auto& [profile, node] = kinds_.front();
    return profile->explain(kind, ranks, bytes, node->ring_bytes_per_second(ranks));
}

/// Bus traffic per second of a GPU inside its node. Where NVSwitches reduce, an all_reduce's table shows NVLS: rings
/// and trees move at the rate of an all_gather.
double Pricer::inside_rate(CollectiveKind kind, std::uint32_t local) const {
    if (kind == CollectiveKind::all_reduce && machine_.nvls) kind = CollectiveKind::all_gather;
    const double seconds = inside_node(kind, local, saturating_bytes);
    return kernels::bus_factor(kind, local) * saturating_bytes / seconds;
}

double Pricer::inside_seconds(const Outline& outline, const Job& job, double payload_share) const {
    const std::uint32_t local = local_ranks(job.shape);
    if (local < 2) return 0;
    if (outline.in_switch) return inside_node(CollectiveKind::all_reduce, local, job.bytes);
    return outline.rank_bytes * job.bytes / payload_share / inside_rate(job.kind, local);
}

double Pricer::fill_seconds(const Outline& outline, Protocol protocol, const Job& job, double seconds_per_byte) const {
    const double depth = outline.inner_depth + outline.outer_depth;
    if (depth <= 0) return 0;
    const double chunk = chunk_bytes(protocol, job.bytes, depth, job.rails, outline.in_switch);
    const std::uint32_t local = local_ranks(job.shape);
    const double inside = local > 1 ? outline.inner_depth / inside_rate(job.kind, local) : 0;
    const double between = outline.node_bytes > 0 ? outline.outer_depth * seconds_per_byte / outline.node_bytes : 0;
    return chunk * (inside + between);
}

Cost Pricer::cost(const Algorithm& algorithm, Protocol protocol, const Job& job, double seconds_per_byte) const {
    const Outline outline = algorithm.outline(job.kind, job.shape);
    const double share = efficiency(algorithm, protocol);
    Cost cost{&algorithm, protocol};
    cost.sequential = outline.sequential;
    cost.wire_bytes = outline.node_bytes * job.bytes / share;
    cost.wire_seconds = seconds_per_byte * job.bytes / share;
    cost.inside_seconds = inside_seconds(outline, job, share);
    const bool tree = algorithm.latencies == Latencies::tree && job.kind == CollectiveKind::all_reduce;
    const double bus = (tree ? 2 : kernels::bus_factor(job.kind, job.shape.ranks)) * job.bytes;
    const double limit = bus_limit(algorithm, protocol, job.shape.nodes, job.rails, machine_);
    const double correction = tree ? tree_correction(algorithm, protocol, job.bytes) : 1;
    if (!cost.sequential)
        cost.inside_seconds = std::max({cost.inside_seconds, bus / limit / correction, cost.wire_seconds / correction});
    if (outline.in_switch)
        cost.proxy_seconds = proxy_seconds(job.bytes, outline.node_bytes, job.rails, job.shape.nodes, machine_);
    cost.latency_seconds = latency_seconds(algorithm, protocol, job.kind, outline, job.shape, machine_) +
                           fill_seconds(outline, protocol, job, seconds_per_byte);
    const std::uint32_t local = local_ranks(job.shape);
    if (job.kind == CollectiveKind::all_to_all || local < 2 || job.shape.nodes < 2) return cost;
    const double floor = inside_node(job.kind, local, job.bytes);
    cost.latency_seconds += std::max(0.0, floor - cost.reckoned());
    return cost;
}

bool Pricer::possible(const Algorithm& algorithm) const {
    return algorithm.latencies != Latencies::in_switch || machine_.nvls;
}

bool Pricer::automatic(const Algorithm& algorithm, CollectiveKind kind, const Shape& shape) const {
    return algorithm.serves(kind) && possible(algorithm) && algorithm.automatic != nullptr &&
           algorithm.automatic(machine_, kind, shape);
}

}  // namespace orrery::sim
