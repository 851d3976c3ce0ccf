#include "sim/collective/timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "topology/link_name.hpp"

namespace orrery::sim {

using kernels::CollectiveKind;
using topology::GpuId;
using topology::LinkId;

CollectiveTimer::CollectiveTimer(const topology::Cluster& cluster, const Profiles& profiles, Group group)
    : cluster_(cluster),
      kinds_(cluster, profiles),
      group_(std::move(group)),
      pricer_(cluster, kinds_, kinds_.among(group_.gpus()), group_.gpus().front(), group_.gpus().back()),
      payload_(kinds_.payload_share()) {}

double CollectiveTimer::capacity(LinkId link) const {
    const topology::Link l = cluster_.link(link);
    return l.bytes_per_second * (l.tier == 0 ? 1.0 : payload_);
}

double CollectiveTimer::slowest(const LinkLoad::Bytes& bytes) const {
    double seconds = 0;
    for (const auto& [link, load] : bytes) seconds = std::max(seconds, load / capacity(link));
    return seconds;
}

const CollectiveTimer::Loads& CollectiveTimer::loads(const Algorithm& algorithm, CollectiveKind kind) {
    const auto [entry, fresh] = loads_.try_emplace({algorithm.name, kind});
    Loads& loads = entry->second;
    if (!fresh) return loads;
    const Schedule schedule = algorithm.schedule(kind, group_, 1.0);
    LinkLoad together(cluster_, group_);
    for (const Phase& phase : schedule.phases) {
        together.add(phase);
        if (schedule.pipelined) continue;
        LinkLoad alone(cluster_, group_);
        alone.add(phase);
        loads.seconds_per_byte += slowest(alone.between());
    }
    if (schedule.pipelined) loads.seconds_per_byte = slowest(together.between());
    loads.bytes = together.between();
    for (const auto& [link, bytes] : together.inside()) loads.bytes[link] += bytes;
    return loads;
}

/// One message from the first GPU to the second; every other pair does the same at the same time in nccl-tests' ring.
CollectiveTimer::Answer CollectiveTimer::message(double bytes) const {
    const auto from = group_.gpus()[0], to = group_.gpus().back();
    if (group_.nodes() == 1) return {std::nullopt, pricer_.inside_node(CollectiveKind::send_recv, 2, bytes), {}};
    const GpuId ends[] = {from, to};
    if (const auto known = kinds_.among_nodes(CollectiveKind::send_recv, Group(ends, cluster_.gpus_per_node()), bytes))
        return {std::nullopt, *known, {}, true};
    double rate = std::numeric_limits<double>::infinity();
    for (const LinkId link : cluster_.route(from, to)) rate = std::min(rate, capacity(link));
    return {std::nullopt, send_latency_seconds(pricer_.machine()) + bytes / rate, {}};
}

CollectiveTimer::Answer CollectiveTimer::answer(CollectiveKind kind, double bytes, const Insisted& insisted) {
    if (group_.ranks() == 1) return {};
    if (kind == CollectiveKind::send_recv) return message(bytes);
    if (group_.nodes() == 1 && insisted.algorithm == nullptr && !insisted.protocol)
        return {std::nullopt, pricer_.inside_node(kind, group_.ranks(), bytes), {}};
    if (insisted.algorithm == nullptr && !insisted.protocol)
        if (const auto known = kinds_.among_nodes(kind, group_, bytes)) return {std::nullopt, *known, {}, true};
    if (insisted.algorithm != nullptr && !pricer_.possible(*insisted.algorithm))
        throw Error(
            fmt::format("{} needs NVSwitches that reduce, which these nodes have not", insisted.algorithm->name),
            "ring or tree; Hopper's nodes and later ones have them");
    const Job job{kind, group_.shape(), group_.rails(), bytes};
    Answer best;
    for (const Algorithm& algorithm : algorithms()) {
        const bool wanted = insisted.algorithm == nullptr ? pricer_.automatic(algorithm, kind, job.shape)
                                                          : &algorithm == insisted.algorithm;
        if (!wanted) continue;
        for (const Protocol protocol : protocols_of(algorithm, kind, pricer_.machine())) {
            if (insisted.protocol && *insisted.protocol != protocol) continue;
            best.weighed.push_back(pricer_.cost(algorithm, protocol, job, loads(algorithm, kind).seconds_per_byte));
        }
    }
    if (best.weighed.empty())
        throw Error(fmt::format("{} has no {} protocol here", kernels::name(kind),
                                insisted.protocol ? name(*insisted.protocol) : "such"),
                    "messages, hierarchies and in-switch reductions use simple");
    best.cost = *std::ranges::min_element(best.weighed, {}, &Cost::reckoned);
    best.seconds = best.cost->seconds();
    return best;
}

double CollectiveTimer::seconds(CollectiveKind kind, double bytes, const Insisted& insisted) {
    return answer(kind, bytes, insisted).seconds;
}

namespace {

std::string parts_of(const Cost& cost) {
    std::string text =
        fmt::format("{} start-ups and fill, {} on the network, {} inside nodes", format_seconds(cost.latency_seconds),
                    format_seconds(cost.wire_seconds), format_seconds(cost.inside_seconds));
    if (cost.proxy_seconds > 0) text += fmt::format(", {} in the hosts' proxies", format_seconds(cost.proxy_seconds));
    return text;
}

}  // namespace

CollectiveTime CollectiveTimer::time(CollectiveKind kind, double bytes, const Insisted& insisted) {
    Answer found = answer(kind, bytes, insisted);
    CollectiveTime time;
    time.seconds = found.seconds;
    const bool worked_out = kind == CollectiveKind::send_recv && group_.nodes() > 1 && !found.measured_so;
    time.algorithm = worked_out ? "message" : "measured";
    time.protocol = "-";
    if (!found.cost) {
        time.why = group_.ranks() == 1 ? "one rank: nothing to move"
                   : found.measured_so
                       ? fmt::format("measured so, {} ranks on {} nodes, in profile \"{}\"", group_.ranks(),
                                     group_.nodes(), kinds_[kinds_.of(group_.gpus().front())].predictor->profile().name)
                   : group_.nodes() == 1 ? pricer_.explain_inside(kind, group_.ranks(), bytes)
                                         : "one message: latency and the slowest link of its route";
        return time;
    }
    time.algorithm = found.cost->algorithm->name;
    time.protocol = name(found.cost->protocol);
    time.why = parts_of(*found.cost);
    std::ranges::sort(found.weighed, {}, &Cost::reckoned);
    for (const Cost& each : found.weighed)
        time.weighed.push_back({each.algorithm->name, name(each.protocol), each.seconds()});
    for (const Cost& other : found.weighed)
        if (other.algorithm != found.cost->algorithm) {
            time.why += fmt::format("; next {} {}: {}", other.algorithm->name, name(other.protocol),
                                    format_seconds(other.seconds()));
            break;
        }
    time.busiest = busiest(loads(*found.cost->algorithm, kind), bytes, time.seconds);
    return time;
}

std::vector<LinkShare> CollectiveTimer::busiest(const Loads& loads, double bytes, double seconds) const {
    constexpr std::size_t most = 4;
    struct Kind {
        LinkId link = 0;
        double utilisation = -1;
        std::uint32_t count = 0;
    };
    std::map<std::tuple<std::uint32_t, topology::LinkKind>, Kind> kinds;  // by tier and kind
    // Rings inside a node without switches take all its links, of which loads have those of one ring.
    const bool without_switch = !cluster_.plan_of(0).has_nvswitch();
    for (const auto& [id, load] : loads.bytes) {
        const topology::Link link = cluster_.link(id);
        if (without_switch && topology::joins_gpus(link.kind)) continue;
        const double utilisation = load * bytes / capacity(id) / seconds;
        Kind& kind = kinds[{link.tier, link.kind}];
        if (utilisation > kind.utilisation * (1 + 1e-9)) {
            kind = {id, utilisation, cluster_.stands_for(id)};
        } else if (utilisation > kind.utilisation * (1 - 1e-9)) {
            kind.link = std::min(kind.link, id);
            kind.count += cluster_.stands_for(id);
        }
    }
    std::vector<Kind> order;
    for (const auto& [key, kind] : kinds) order.push_back(kind);
    std::ranges::stable_sort(order, std::ranges::greater{}, &Kind::utilisation);
    std::vector<LinkShare> result;
    for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
        result.push_back({topology::link_name(cluster_, order[i].link), loads.bytes.at(order[i].link) * bytes,
                          order[i].utilisation, order[i].count});
    return result;
}

}  // namespace orrery::sim
