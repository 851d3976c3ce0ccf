#include "calibrate/predict_collective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

using Kind = kernels::CollectiveKind;

Sweep sweep(const CollectiveTable& table) {
    std::vector<double> bytes, seconds;
    for (const auto& p : table.points) {
        bytes.push_back(p.bytes);
        seconds.push_back(p.seconds);
    }
    return {std::move(bytes), std::move(seconds)};
}

double traffic_growth(Kind kind, std::uint32_t from, std::uint32_t to) {
    return kernels::bus_factor(kind, to) / kernels::bus_factor(kind, from);
}

}  // namespace

CollectivePredictor::CollectivePredictor(const Profile& profile) : profile_name_(profile.name) {
    for (const auto& table : profile.collectives)
        if (table.nodes == 1)
            kinds_[table.kind].emplace(table.ranks, Lookup{&table, sweep(table)});
        else
            among_nodes_.emplace(std::tuple(table.kind, table.ranks, table.nodes), Lookup{&table, sweep(table)});
}

/// Kinds without a table, by the ring algorithm's traffic (nccl-tests, doc/PERFORMANCE.md):
/// all_gather and reduce_scatter are the two halves of an all_reduce of the same size; broadcast and send_recv put
/// their whole size on each link, which an all_gather of bytes n / (n - 1) does (for send_recv among two ranks);
/// all_to_all has an all_gather's traffic.
CollectivePredictor::Rule CollectivePredictor::rule(Kind kind, std::uint32_t ranks, double bytes) const {
    const auto find = [&](Kind wanted) -> const Sweeps* {
        const auto found = kinds_.find(wanted);
        return found == kinds_.end() ? nullptr : &found->second;
    };
    if (const auto* own = find(kind)) return {own, bytes, 1.0, ""};
    const Sweeps* gather = find(Kind::all_gather);
    const Sweeps* reduce = find(Kind::all_reduce);
    const double wire = kernels::bus_factor(kind, ranks) * bytes;
    if (gather != nullptr && kind != Kind::all_reduce)
        return {gather, wire / kernels::bus_factor(Kind::all_gather, ranks), 1.0,
                "an all_gather with the same traffic per link"};
    if (reduce != nullptr && (kind == Kind::all_gather || kind == Kind::reduce_scatter))
        return {reduce, bytes, 0.5, "half of an all_reduce of the same size"};
    if (reduce != nullptr)
        return {reduce, wire / kernels::bus_factor(Kind::all_reduce, ranks), 1.0,
                "an all_reduce with the same traffic per link"};
    throw Error("", "/profile", fmt::format("\"{}\" has no table for {}", profile_name_, kernels::name(kind)),
                "measure one, or import another profile");
}

/// Below the sweep: its first time (latency). Above: constant bandwidth. The reading at or before the size tells how
/// far readings spread.
Estimate CollectivePredictor::sweep_time(const Lookup& lookup, double bytes) {
    const double spread = lookup.table->points[lookup.seconds.before(bytes)].half_width;
    const double low = lookup.seconds.first_bytes(), high = lookup.seconds.last_bytes();
    if (bytes <= low) return {lookup.seconds.at(low), bytes < low * (1 - 1e-9), spread};
    if (bytes >= high) return {lookup.seconds.at(high) * bytes / high, bytes > high * (1 + 1e-9), spread};
    return {lookup.seconds.at(bytes), false, spread};
}

double CollectivePredictor::size_there(const Lookup& lookup, double bytes, double nvlink) {
    const double there = lookup.table->nvlink_bytes_per_second;
    return nvlink > 0 && there > 0 ? bytes * (there / nvlink) : bytes;
}

/// Latency that ranks beyond the largest measured count add: the time of the smallest size goes on growing as the
/// power of the ranks that it grew by between the last two counts, at most in proportion. The same for every size.
double CollectivePredictor::added_latency(const Sweeps& sweeps, Sweeps::const_iterator largest, std::uint32_t ranks) {
    if (largest == sweeps.begin()) return 0;
    const auto before = std::prev(largest);
    const auto latency = [](const Lookup& lookup) { return lookup.seconds.at(lookup.seconds.first_bytes()); };
    const double now = latency(largest->second);
    const double power =
        std::log(now / latency(before->second)) / std::log(static_cast<double>(largest->first) / before->first);
    return now * (std::pow(static_cast<double>(ranks) / largest->first, std::clamp(power, 0.0, 1.0)) - 1);
}

/// Between two measured rank counts: ln time over ln ranks. Beyond the largest: growth of the traffic per link, and
/// added latency.
Estimate CollectivePredictor::between(const Sweeps& sweeps, std::uint32_t ranks, double bytes, double nvlink) {
    const auto time = [&](const Lookup& lookup) { return sweep_time(lookup, size_there(lookup, bytes, nvlink)); };
    const auto above = sweeps.lower_bound(ranks);
    if (above != sweeps.end() && above->first == ranks) return time(above->second);
    if (above == sweeps.begin()) {
        Estimate least = time(above->second);
        least.extrapolated = true;
        return least;
    }
    const auto below = std::prev(above);
    const Estimate low = time(below->second);
    if (above != sweeps.end()) {
        const Estimate high = time(above->second);
        const double t = std::log(static_cast<double>(ranks) / below->first) /
                         std::log(static_cast<double>(above->first) / below->first);
        return {std::exp((1 - t) * std::log(low.seconds) + t * std::log(high.seconds)), true,
                std::max(low.uncertainty, high.uncertainty)};
    }
    return {low.seconds * traffic_growth(below->second.table->kind, below->first, ranks) +
                added_latency(sweeps, below, ranks),
            true, low.uncertainty};
}

Estimate CollectivePredictor::estimate(Kind kind, std::uint32_t ranks, double bytes, double nvlink) const {
    if (!std::isfinite(bytes) || bytes < 0)
        throw Error(fmt::format("a collective of {} bytes", bytes), "sizes are finite and not negative");
    if (ranks < 2) return {0.0, false};
    if (kind == Kind::send_recv) ranks = 2;
    const Rule found = rule(kind, ranks, bytes);
    Estimate answer = between(*found.sweeps, ranks, found.bytes, nvlink);
    answer.seconds *= found.factor;
    answer.extrapolated = answer.extrapolated || !found.text.empty();
    return answer;
}

std::optional<Estimate> CollectivePredictor::among_nodes(Kind kind, std::uint32_t ranks, std::uint32_t nodes,
                                                         double bytes) const {
    const auto found = among_nodes_.find({kind, ranks, nodes});
    if (found == among_nodes_.end()) return std::nullopt;
    return sweep_time(found->second, bytes);
}

std::string CollectivePredictor::explain(Kind kind, std::uint32_t ranks, double bytes, double nvlink) const {
    const Estimate answer = estimate(kind, ranks, bytes, nvlink);
    std::string out = fmt::format("{} of {} among {} ranks: {}{}\n", kernels::name(kind), format_bytes(bytes), ranks,
                                  format_seconds(answer.seconds), answer.extrapolated ? ", extrapolated" : "");
    if (ranks < 2) return out + "  a single rank moves nothing\n";
    if (kind == Kind::send_recv) ranks = 2;
    const Rule found = rule(kind, ranks, bytes);
    if (!found.text.empty()) out += fmt::format("  no table for {}: {}\n", kernels::name(kind), found.text);
    const auto describe = [&](const Lookup& lookup) {
        const auto& table = *lookup.table;
        out +=
            fmt::format("  table {} among {} ({})\n", kernels::name(table.kind), table.ranks, table.provenance.origin);
        const double there = size_there(lookup, found.bytes, nvlink);
        if (there != found.bytes)
            out += fmt::format("    of {:.0f} GB/s of each rank's NVLinks, here {:.0f}: read at {}\n",
                               table.nvlink_bytes_per_second / 1e9, nvlink / 1e9, format_bytes(there));
        const std::size_t before = lookup.seconds.before(there);
        for (std::size_t i = before; i < std::min(before + 2, table.points.size()); ++i)
            out += fmt::format("    row {}: {} in {}\n", i, format_bytes(table.points[i].bytes),
                               format_seconds(table.points[i].seconds));
    };
    const auto above = found.sweeps->lower_bound(ranks);
    if (above != found.sweeps->begin() && (above == found.sweeps->end() || above->first != ranks))
        describe(std::prev(above)->second);
    if (above != found.sweeps->end()) describe(above->second);
    return out;
}

}  // namespace orrery::calibrate
