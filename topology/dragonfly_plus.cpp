#include "topology/dragonfly_plus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "topology/dragonfly.hpp"

namespace orrery::topology {

using namespace hardware;

std::string DragonflyPlus::describe() const {
    return fmt::format("dragonfly+ of {} groups of {} leaves and {} spines (p = {}, h = {}), {} global link{} a pair",
                       s_.groups, s_.leaves, s_.spines, s_.terminals, s_.global_links, channels_,
                       channels_ == 1 ? "" : "s");
}

std::uint32_t DragonflyPlus::paths(Port from, Port to) const {
    const std::uint32_t a = router_of(from), b = router_of(to);
    return a == b ? 1 : a / s_.leaves == b / s_.leaves ? s_.spines : channels_;
}

std::uint32_t DragonflyPlus::usual_path(Port from, Port to) const { return port(to) % paths(from, to); }

void DragonflyPlus::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                                 std::vector<std::uint32_t>& out) const {
    const std::uint32_t a = router_of(from), b = router_of(to);
    if (a == b) return;
    const std::uint32_t ga = a / s_.leaves, gb = b / s_.leaves;
    std::uint32_t up = path, down = path;
    const std::uint32_t ahead = (gb + s_.groups - ga) % s_.groups;
    if (ga != gb) {
        up = global(ahead, path) / s_.global_links;
        down = global(s_.groups - ahead, path) / s_.global_links;
    }
    out.push_back(first + ga * per_group() + a % s_.leaves * s_.spines + up);
    if (ga != gb) out.push_back(first + ga * per_group() + 2 * ups() + global(ahead, path));
    out.push_back(first + gb * per_group() + ups() + b % s_.leaves * s_.spines + down);
}

Trunk DragonflyPlus::trunk(std::uint32_t id) const {
    const std::uint32_t group = id / per_group(), at = id % per_group(), first_spine = s_.groups * s_.leaves;
    const auto spine = [&](std::uint32_t of, std::uint32_t number) { return first_spine + of * s_.spines + number; };
    if (at < 2 * ups()) {
        const std::uint32_t cable = at % ups();
        Trunk t{group * s_.leaves + cable / s_.spines, spine(group, cable % s_.spines), 1, 2, spine_cable_metres};
        if (at >= ups()) std::swap(t.from, t.to);
        return t;
    }
    const std::uint32_t ahead = (at - 2 * ups()) / channels_ + 1, channel = (at - 2 * ups()) % channels_;
    const std::uint32_t there = (group + ahead) % s_.groups;
    return {spine(group, global(ahead, channel) / s_.global_links),
            spine(there, global(s_.groups - ahead, channel) / s_.global_links), 1, 3, core_cable_metres};
}

double DragonflyPlus::bisection_bytes_per_second() const {
    const std::uint32_t half = s_.groups / 2;
    const double cables = s_.groups == 1 ? s_.leaves / 2 * s_.spines : half * (s_.groups - half) * channels_;
    return cables * parts().trunk_bytes_per_second;
}

std::shared_ptr<const Fabric> make_dragonfly_plus(const FabricSpec& spec, FabricParts parts) {
    constexpr std::uint32_t most = 512;  // ports of the largest switches on offer
    DragonflyPlus::Sizes s{};
    s.terminals = parameter(spec.terminals, parts.nics_per_node, "terminals", most);
    s.leaves = parameter(spec.routers, s.terminals, "routers", most);
    s.spines = parameter(spec.spines, s.leaves, "spines", most);
    s.global_links = parameter(spec.global_links, s.terminals, "global_links", most);
    const std::uint64_t ports = std::uint64_t{s.terminals} * s.leaves;
    s.groups = choose_groups(spec.groups, parts, ports, s.spines * s.global_links + 1);
    const std::uint32_t channels = s.groups == 1 ? 1 : s.spines * s.global_links / (s.groups - 1);
    return std::make_shared<DragonflyPlus>(s, channels, fit(parts, ports * s.groups, "dragonfly+"));
}

}  // namespace orrery::topology
