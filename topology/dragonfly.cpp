#include "topology/dragonfly.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace orrery::topology {

using namespace hardware;

std::string Dragonfly::describe() const {
    return fmt::format("dragonfly of {} groups of {} routers (p = {}, a = {}, h = {}), {} global link{} a pair",
                       s_.groups, s_.routers, s_.terminals, s_.routers, s_.global_links, channels_,
                       channels_ == 1 ? "" : "s");
}

std::uint32_t Dragonfly::local_link(std::uint32_t group, std::uint32_t from, std::uint32_t to) const {
    return group * per_group() + from * (s_.routers - 1) + (to < from ? to : to - 1);
}

std::uint32_t Dragonfly::detour(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const {
    const std::uint32_t a = s_.routers, ahead = (to / a + s_.groups - from / a) % s_.groups;
    return (gateway(ahead, channel) != from % a ? 1U : 0U) + (gateway(s_.groups - ahead, channel) != to % a ? 1U : 0U);
}

std::uint32_t Dragonfly::least_detour(std::uint32_t from, std::uint32_t to) const {
    std::uint32_t least = 2;
    for (std::uint32_t channel = 0; channel < channels_; ++channel) least = std::min(least, detour(from, to, channel));
    return least;
}

std::uint32_t Dragonfly::paths(Port from, Port to) const {
    const std::uint32_t a = router_of(from), b = router_of(to);
    if (a / s_.routers == b / s_.routers) return 1;
    const std::uint32_t least = least_detour(a, b);
    std::uint32_t count = 0;
    for (std::uint32_t channel = 0; channel < channels_; ++channel) count += detour(a, b, channel) == least ? 1 : 0;
    return count;
}

std::uint32_t Dragonfly::usual_path(Port from, Port to) const { return router_of(to) % paths(from, to); }

void Dragonfly::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                             std::vector<std::uint32_t>& out) const {
    const std::uint32_t a = router_of(from), b = router_of(to), size = s_.routers;
    const std::uint32_t ga = a / size, gb = b / size;
    if (a == b) return;
    if (ga == gb) {
        out.push_back(first + local_link(ga, a % size, b % size));
        return;
    }
    const std::uint32_t least = least_detour(a, b);
    std::uint32_t channel = 0;
    while (detour(a, b, channel) != least || path-- > 0) ++channel;
    const std::uint32_t ahead = (gb + s_.groups - ga) % s_.groups;
    const std::uint32_t exit = gateway(ahead, channel), entry = gateway(s_.groups - ahead, channel);
    if (exit != a % size) out.push_back(first + local_link(ga, a % size, exit));
    out.push_back(first + ga * per_group() + locals() + global(ahead, channel));
    if (entry != b % size) out.push_back(first + local_link(gb, entry, b % size));
}

Trunk Dragonfly::trunk(std::uint32_t id) const {
    const std::uint32_t group = id / per_group(), at = id % per_group(), base = group * s_.routers;
    if (at < locals()) {
        const std::uint32_t from = at / (s_.routers - 1), other = at % (s_.routers - 1);
        return {base + from, base + (other < from ? other : other + 1), 1, 2, nic_cable_metres};
    }
    const std::uint32_t ahead = (at - locals()) / channels_ + 1, channel = (at - locals()) % channels_;
    const std::uint32_t there = (group + ahead) % s_.groups;
    return {base + gateway(ahead, channel), there * s_.routers + gateway(s_.groups - ahead, channel), 1, 3,
            core_cable_metres};
}

double Dragonfly::bisection_bytes_per_second() const {
    const bool one = s_.groups == 1;
    const std::uint32_t parts_cut = one ? s_.routers : s_.groups, half = parts_cut / 2;
    return static_cast<double>(half * (parts_cut - half)) * (one ? 1 : channels_) * parts().trunk_bytes_per_second;
}

std::uint32_t choose_groups(std::uint32_t asked, const FabricParts& parts, std::uint64_t ports_per_group,
                            std::uint32_t most) {
    std::uint64_t groups = asked;
    if (groups == 0) {
        const std::uint64_t ports = std::uint64_t{parts.nodes} * parts.nics_per_node;
        groups = parts.nodes == 0 ? most : std::max<std::uint64_t>(1, (ports + ports_per_group - 1) / ports_per_group);
    }
    if (groups > most || groups * ports_per_group > (1U << 24)) {
        throw Error(
            "", asked == 0 ? "/cluster/nodes" : "/cluster/groups",
            fmt::format("{} groups of {} ports are more than their global links can join", groups, ports_per_group),
            fmt::format("nearest legal value: {} groups; or more global_links or routers", most));
    }
    return static_cast<std::uint32_t>(groups);
}

std::shared_ptr<const Fabric> make_dragonfly(const FabricSpec& spec, FabricParts parts) {
    constexpr std::uint32_t most = 512;  // ports of the largest routers on offer
    Dragonfly::Sizes s{};
    s.terminals = parameter(spec.terminals, parts.nics_per_node, "terminals", most);
    s.routers = parameter(spec.routers, 2 * s.terminals, "routers", most);
    s.global_links = parameter(spec.global_links, std::max(1U, s.routers / 2), "global_links", most);
    s.groups =
        choose_groups(spec.groups, parts, std::uint64_t{s.terminals} * s.routers, s.routers * s.global_links + 1);
    const std::uint32_t channels = s.groups == 1 ? 1 : s.routers * s.global_links / (s.groups - 1);
    parts = fit(parts, std::uint64_t{s.terminals} * s.routers * s.groups, "dragonfly");
    return std::make_shared<Dragonfly>(s, channels, parts);
}

}  // namespace orrery::topology
