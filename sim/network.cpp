#include "sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/units.hpp"
#include "hardware/token_exchange.hpp"
#include "sim/collective/chip_grid.hpp"
#include "sim/collective/ring.hpp"
#include "sim/collective/torus_ring.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;
using topology::GpuId;

namespace {

/// A transfer that takes `seconds` behind its launch when it is alone, of which `start_up` moves nothing.
Transfer timed(double seconds, double launch, double start_up, double bytes) {
    if (seconds <= start_up || bytes <= 0) return {.latency = launch + seconds};
    return {launch + start_up, bytes, bytes / (seconds - start_up)};
}

bool among_nodes(const Kinds& kinds) {
    for (std::uint32_t number = 0; number < kinds.size(); ++number)
        if (std::ranges::any_of(kinds[number].predictor->profile().collectives,
                                [](const auto& t) { return t.nodes > 1; }))
            return true;
    return false;
}

}  // namespace

InsistedAlgorithms insisted_algorithms(const strategies::Strategy& strategy) {
    using strategies::AllReduceAlgorithm;
    using strategies::AllToAllAlgorithm;
    constexpr EnumNames<AllReduceAlgorithm> reduce{"", "ring", "tree", "hierarchical"};
    constexpr EnumNames<AllToAllAlgorithm> exchange{"", "direct", "pxn", "hierarchical"};
    const auto named = [](std::string_view name, CollectiveKind kind) {
        return name.empty() ? nullptr : &find_algorithm(name, kind);
    };
    return {named(reduce[strategy.all_reduce_algorithm], CollectiveKind::all_reduce),
            named(exchange[strategy.all_to_all_algorithm], CollectiveKind::all_to_all)};
}

Network::Network(const topology::Cluster& cluster, const Profiles& profiles, const InsistedAlgorithms& insisted)
    : cluster_(cluster.unused()),
      kinds_(cluster, profiles),
      insisted_(insisted),
      knows_nodes_(among_nodes(kinds_)),
      payload_(kinds_.payload_share()) {}

/// Latencies are those of the farthest pair for all: which pairs are near must not split a folding's classes.
const Network::Mixture& Network::mixture(std::span<const GpuId> gpus) const {
    if (kinds_.size() == 1 && !mixtures_.empty()) return mixtures_.begin()->second;
    std::vector<std::uint32_t> numbers = kinds_.among(gpus);
    const auto known = mixtures_.find(numbers);
    if (known != mixtures_.end()) return known->second;
    Mixture fresh{kinds_.most(numbers, "collective_launch_seconds"),
                  Pricer(cluster_, kinds_, numbers, 0, cluster_.gpus() - 1)};
    return mixtures_.try_emplace(std::move(numbers), std::move(fresh)).first->second;
}

std::vector<LinkUse> Network::path(GpuId from, GpuId to) const {
    std::vector<LinkUse> uses;
    if (cluster_.node_of(from) == cluster_.node_of(to)) return uses;
    std::vector<topology::LinkShare> shares;
    cluster_.loads(from, to, shares);
    for (const auto& [link, share] : shares) uses.push_back({link, share});
    return uses;
}

std::vector<LinkUse> Network::tightest(std::span<const LinkUse> path) const {
    const LinkUse* tightest = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const LinkUse& use : path) {
        const double rate = capacity(use.link) / use.weight;
        if (tightest != nullptr && !(rate < least)) continue;
        tightest = &use;
        least = rate;
    }
    return tightest == nullptr ? std::vector<LinkUse>{} : std::vector{*tightest};
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
    const GpuId ends[] = {from, to};
    const auto& [launch, pricer] = mixture(ends);
    if (cluster_.node_of(from) == cluster_.node_of(to))
        return {.latency = launch + (from == to ? 0.0 : pricer.inside_node(CollectiveKind::send_recv, 2, bytes))};
    const double start_up = send_latency_seconds(pricer.machine());
    if (knows_nodes_ && kinds_.of(from) == kinds_.of(to))
        if (const auto known = predictor(from).measured(CollectiveKind::send_recv, 2, 2, bytes))
            return timed(known->seconds, launch, start_up, bytes);
    return {.latency = launch + start_up, .bytes = bytes};
}

Network::Spread Network::spread_of(std::span<const GpuId> group) const {
    Spread spread{0, static_cast<std::uint32_t>(group.size())};
    for (std::size_t first = 0, next = 0; first < group.size(); first = next) {
        const std::uint32_t node = cluster_.node_of(group[first]);
        while (next < group.size() && cluster_.node_of(group[next]) == node) ++next;
        ++spread.nodes;
        spread.rails = std::min(spread.rails, static_cast<std::uint32_t>(next - first));
    }
    return spread;
}

Group Network::group_of(std::span<const GpuId> gpus, double once) const {
    return {gpus, gpus_per_node(), grid_of(cluster_, gpus), once};
}

std::vector<Network::Hop> Network::hops(std::span<const GpuId> gpus) const {
    const Group group = group_of(gpus);
    std::vector<Hop> list;
    if (group.nodes() <= 1) return list;
    list.reserve(std::size_t{group.nodes()} * group.rails());
    const bool torus = !group.grid().empty();
    for (const Leg& t : torus ? torus_ring_hops(group, 1.0) : ring_hops(group, 1.0, false))
        list.push_back({t.via, t.to, t.bytes});
    return list;
}

std::vector<LinkUse> Network::path(std::span<const GpuId> group) const {
    std::vector<LinkUse> crossed, uses;
    std::vector<topology::LinkShare> shares;
    for (const Hop& hop : hops(group)) {
        cluster_.loads(hop.from, hop.to, shares);
        for (const auto& [link, share] : shares) crossed.push_back({link, hop.share * share});
    }
    std::ranges::stable_sort(crossed, {}, &LinkUse::link);
    for (const LinkUse& use : crossed) {
        if (uses.empty() || uses.back().link != use.link) uses.push_back({use.link, 0.0});
        uses.back().weight += use.weight;
    }
    return uses;
}

/// Groups of a step are mostly alike: asked again for a job like one before, it is what was chosen then.
Cost Network::choose(CollectiveKind kind, const Group& group, double bytes, std::span<const LinkUse> path) const {
    const Mixture& among = mixture(group.gpus());
    const Job job{kind, group.shape(), group.rails(), bytes};
    const double rate = bottleneck(path);
    const auto like = [&](const Chosen& one) { return one.among == &among && one.rate == rate && one.job == job; };
    if (const auto known = std::ranges::find_if(chosen_, like); known != chosen_.end()) return known->cost;
    constexpr std::size_t most = 64;  // unlike ones: looking for one like them would cost more than choosing
    const Cost cost = cheapest(among.pricer, job, rate);
    if (chosen_.size() < most) chosen_.push_back({&among, rate, job, cost});
    return cost;
}

/// Hierarchies need as many members in every node.
const Algorithm* Network::insisted_on(const Job& job) const {
    const Algorithm* const named = job.kind == CollectiveKind::all_reduce   ? insisted_.all_reduce
                                   : job.kind == CollectiveKind::all_to_all ? insisted_.all_to_all
                                                                            : nullptr;
    const bool even = job.rails * job.shape.nodes == job.shape.ranks;
    return named != nullptr && named->name == "hierarchical" && !even ? nullptr : named;
}

Cost Network::cheapest(const Pricer& pricer, const Job& job, double rate) const {
    const Algorithm* const insisted = insisted_on(job);
    Cost best;
    for (const Algorithm& algorithm : algorithms()) {
        if (insisted != nullptr ? &algorithm != insisted : !pricer.automatic(algorithm, job.kind, job.shape)) continue;
        const double seconds_per_byte = algorithm.outline(job.kind, job.shape).node_bytes / rate;
        for (const Protocol protocol : protocols_of(algorithm, job.kind, pricer.machine())) {
            const Cost cost = pricer.cost(algorithm, protocol, job, seconds_per_byte);
            if (best.algorithm == nullptr || cost.reckoned() < best.reckoned()) best = cost;
        }
    }
    if (best.algorithm == nullptr) throw Error(fmt::format("{} has no algorithm", kernels::name(job.kind)));
    return best;
}

std::optional<Transfer> Network::measured(CollectiveKind kind, const Group& group, double bytes,
                                          std::span<const LinkUse> path) const {
    if (!knows_nodes_ || insisted_on({kind, group.shape(), group.rails(), bytes}) != nullptr) return std::nullopt;
    const auto seconds = kinds_.among_nodes(kind, group, bytes);
    if (!seconds) return std::nullopt;
    const Cost cost = choose(kind, group, bytes, path);
    const double start_up = std::min(cost.latency_seconds, *seconds);
    // Never more than the links can carry in that time.
    const double wire = std::min(cost.wire_bytes, (*seconds - start_up) * bottleneck(path));
    return timed(*seconds, mixture(group.gpus()).launch, start_up, wire);
}

double seconds_of_tokens(const strategies::OnceANode& exchange) {
    return static_cast<double>(exchange.tokens) * hardware::token_exchange_seconds;
}

Transfer Network::collective(CollectiveKind kind, std::span<const GpuId> gpus, double bytes,
                             std::span<const LinkUse> path, const strategies::OnceANode* tokens) const {
    if (gpus.size() <= 1) return {};
    const auto& [launch, pricer] = mixture(gpus);
    const std::uint32_t node = cluster_.node_of(gpus.front());
    if (std::ranges::all_of(gpus, [&](GpuId gpu) { return cluster_.node_of(gpu) == node; })) {
        const double links = pricer.inside_node(kind, static_cast<std::uint32_t>(gpus.size()), bytes);
        return {.latency = launch + links + (tokens != nullptr ? seconds_of_tokens(*tokens) : 0.0)};
    }
    const std::uint32_t nodes = tokens != nullptr ? spread_of(gpus).nodes : 1;
    const double once =
        nodes > 1 ? std::min(1.0, models::expected_parts(tokens->routing, nodes) / tokens->copies) : 1.0;
    const Group group = group_of(gpus, once);
    if (kind == CollectiveKind::send_recv) return message(gpus.front(), gpus.back(), bytes);
    if (once >= 1)
        if (const auto known = measured(kind, group, bytes, path)) return *known;
    const Cost cost = choose(kind, group, bytes, path);
    Transfer transfer{launch + cost.latency_seconds, cost.wire_bytes};
    if (cost.sequential)
        transfer.latency += cost.inside_seconds;
    else if (cost.beside_wire() > 0 && cost.wire_bytes > 0)
        transfer.rate_limit = cost.wire_bytes / cost.beside_wire();
    return transfer;
}

std::string Network::explain(CollectiveKind kind, std::span<const GpuId> gpus, double bytes) const {
    const auto ranks = static_cast<std::uint32_t>(gpus.size());
    if (ranks <= 1) return "one rank: nothing to move";
    const Group group = group_of(gpus);
    if (group.nodes() == 1) return mixture(gpus).pricer.explain_inside(kind, ranks, bytes);
    const auto uses = path(gpus);
    if (const auto known = measured(kind, group, bytes, uses))
        return fmt::format("{} ranks on {} nodes: measured so in profile \"{}\", {}", ranks, group.nodes(),
                           predictor(gpus.front()).profile().name, format_seconds(alone(*known, uses)));
    const Cost cost = choose(kind, group, bytes, uses);
    return fmt::format(
        "{} ranks on {} nodes: {} with {}, {} start-ups and fill, {:.0f} bytes through each node's NICs in {}, "
        "at least {} inside nodes",
        ranks, group.nodes(), cost.algorithm->name, name(cost.protocol), format_seconds(cost.latency_seconds),
        cost.wire_bytes, format_seconds(cost.wire_seconds), format_seconds(cost.inside_seconds));
}

}  // namespace orrery::sim
