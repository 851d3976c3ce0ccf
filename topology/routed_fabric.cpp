#include "topology/routed_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace orrery::topology {

namespace {

constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t most_on_a_route = 256, most_in_all = 32U << 20;

struct Wire {
    double bytes_per_second = 0, seconds = 0;
    std::uint32_t from = 0, to = 0;  ///< routers, of a trunk
};
struct HostCable {
    Wire up = {}, down = {};
    std::uint32_t router = 0;
};
/// What the routes are over, once it is known where links begin and end.
struct Wiring {
    std::vector<HostCable> cables;  // by host
    std::vector<Wire> trunks;
    std::vector<std::uint32_t> number;  // of a link among the trunks; nothing: a NIC's cable, or unused
    std::uint32_t routers = 0, shared = 0;
};

/// Sets that are joined pair by pair.
class Sets {
public:
    explicit Sets(std::size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
    std::uint32_t find(std::uint32_t at) {
        while (parent_[at] != at) at = parent_[at] = parent_[parent_[at]];
        return at;
    }
    void join(std::uint32_t a, std::uint32_t b) { parent_[find(a)] = find(b); }

private:
    std::vector<std::uint32_t> parent_;
};

class Planner {
public:
    Planner(const std::vector<SharedLink>& links, const HostRoutes& routes)
        : links_(links), routes_(routes), out_(routes.hosts(), nothing), in_(routes.hosts(), nothing) {
        find_own_cables();
    }

    Wiring plan() {
        const std::uint32_t hosts = routes_.hosts(), ends = static_cast<std::uint32_t>(2 * links_.size());
        // Link l begins in set 2l and ends in set 2l + 1; the routers of hosts follow.
        Sets sets(ends + hosts);
        std::vector<bool> used(links_.size(), false);
        each_route([&](std::uint32_t from, std::uint32_t to, std::span<const std::uint32_t> trunks) {
            std::uint32_t at = ends + from;
            for (const std::uint32_t link : trunks) {
                used[link] = true;
                sets.join(at, 2 * link);
                at = 2 * link + 1;
            }
            sets.join(at, ends + to);
        });
        std::map<std::uint32_t, std::uint32_t> names;
        const auto router = [&](std::uint32_t end) {
            return names.try_emplace(sets.find(end), static_cast<std::uint32_t>(names.size())).first->second;
        };
        Wiring wiring;
        wiring.number.assign(links_.size(), nothing);
        for (std::uint32_t host = 0; host < hosts; ++host) wiring.cables.push_back(cable(host, router(ends + host)));
        for (std::uint32_t l = 0; l < links_.size(); ++l) {
            if (!used[l]) continue;
            wiring.number[l] = static_cast<std::uint32_t>(wiring.trunks.size());
            wiring.trunks.push_back({links_[l].bytes_per_second, links_[l].seconds, router(2 * l), router(2 * l + 1)});
            wiring.shared += links_[l].back == l ? 1 : 0;
        }
        wiring.routers = static_cast<std::uint32_t>(names.size());
        return wiring;
    }

    /// The route without the NICs' cables.
    [[nodiscard]] std::span<const std::uint32_t> between(std::uint32_t from, std::uint32_t to) const {
        auto links = routes_.at(from, to);
        if (own(from)) links = links.subspan(1);
        if (own(to)) links = links.first(links.size() - 1);
        return links;
    }

private:
    [[nodiscard]] bool own(std::uint32_t host) const { return out_[host] != nothing; }

    template <class Visit>
    void each_route(Visit visit) const {
        for (std::uint32_t from = 0; from < routes_.hosts(); ++from) {
            for (std::uint32_t to = 0; to < routes_.hosts(); ++to) {
                if (from != to) visit(from, to, between(from, to));
            }
        }
    }

    /// A host's own: the first link of all routes from it and of no others, and likewise the last of those to it.
    void find_own_cables() {
        std::vector<std::set<std::uint32_t>> first(routes_.hosts()), last(routes_.hosts());
        std::vector<std::uint64_t> uses(links_.size(), 0);
        each_route([&](std::uint32_t from, std::uint32_t to, std::span<const std::uint32_t> links) {
            first[from].insert(links.front());
            last[to].insert(links.back());
            for (const std::uint32_t link : links) ++uses[link];
        });
        const std::uint64_t others = routes_.hosts() - 1;
        std::set<std::uint32_t> taken;
        for (std::uint32_t host = 0; host < routes_.hosts(); ++host) {
            if (first[host].size() != 1 || last[host].size() != 1) continue;
            const std::uint32_t up = *first[host].begin(), down = *last[host].begin();
            if (up == down || uses[up] != others || uses[down] != others) continue;
            if (taken.contains(up) || taken.contains(down)) continue;  // two hosts and nothing between them
            taken.insert({up, down});
            out_[host] = up, in_[host] = down;
        }
    }

    /// Without one of its own a host's cable carries whatever its first and last links can.
    [[nodiscard]] HostCable cable(std::uint32_t host, std::uint32_t router) const {
        if (own(host)) {
            const SharedLink &up = links_[out_[host]], &down = links_[in_[host]];
            return {{up.bytes_per_second, up.seconds}, {down.bytes_per_second, down.seconds}, router};
        }
        std::set<std::uint32_t> first, last;
        for (std::uint32_t other = 0; other < routes_.hosts(); ++other) {
            if (other == host) continue;
            first.insert(routes_.at(host, other).front());
            last.insert(routes_.at(other, host).back());
        }
        HostCable cable{.router = router};
        for (const std::uint32_t link : first) cable.up.bytes_per_second += links_[link].bytes_per_second;
        for (const std::uint32_t link : last) cable.down.bytes_per_second += links_[link].bytes_per_second;
        return cable;
    }

    const std::vector<SharedLink>& links_;
    const HostRoutes& routes_;
    std::vector<std::uint32_t> out_, in_;  // by host: the links of its own cable
};

class RoutedFabric final : public Fabric {
public:
    RoutedFabric(const FabricParts& parts, Wiring wiring, HostRoutes routes)
        : Fabric(parts), wiring_(std::move(wiring)), routes_(std::move(routes)) {}

    [[nodiscard]] std::string describe() const override {
        std::string text = fmt::format("{} hosts on listed routes over {} links", nodes(), links());
        if (wiring_.shared > 0) text += fmt::format(", {} of them shared by both directions", wiring_.shared);
        return text;
    }
    [[nodiscard]] std::vector<Layer> layers() const override { return {{VertexKind::router, wiring_.routers}}; }
    [[nodiscard]] Link link(std::uint32_t id) const override {
        if (id >= port_links()) {
            const Wire& trunk = wiring_.trunks[id - port_links()];
            return {LinkKind::fabric, trunk.bytes_per_second, trunk.seconds, 1, 2};
        }
        const HostCable& cable = wiring_.cables[id % ports()];
        const Wire& wire = id < ports() ? cable.up : cable.down;
        return {LinkKind::nic, wire.bytes_per_second, wire.seconds, 1, 1};
    }
    [[nodiscard]] std::uint32_t paths(Port, Port) const override { return 1; }
    [[nodiscard]] std::uint32_t usual_path(Port, Port) const override { return 0; }
    [[nodiscard]] double bisection_bytes_per_second() const override {
        std::vector<std::uint64_t> pairs_over(links(), 0);
        const std::uint32_t half = nodes() / 2;
        std::vector<std::uint32_t> way;
        for (std::uint32_t from = 0; from < half; ++from) {
            for (std::uint32_t to = half; to < nodes(); ++to) {
                way.clear();
                route({from, 0}, {to, 0}, 0, way);
                for (const std::uint32_t id : way) ++pairs_over[id];
            }
        }
        const double pairs = static_cast<double>(half) * (nodes() - half);
        double all = std::numeric_limits<double>::infinity();
        for (std::uint32_t id = 0; id < links(); ++id) {
            if (pairs_over[id] == 0) continue;
            all = std::min(all, RoutedFabric::link(id).bytes_per_second * pairs / static_cast<double>(pairs_over[id]));
        }
        return all;
    }
    [[nodiscard]] std::uint32_t router_of(Port p) const override { return wiring_.cables[p.node].router; }
    [[nodiscard]] std::uint32_t trunks() const override { return static_cast<std::uint32_t>(wiring_.trunks.size()); }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override {
        return {wiring_.trunks[id].from, wiring_.trunks[id].to};
    }

protected:
    void route_trunks(Port from, Port to, std::uint32_t, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override {
        for (const std::uint32_t link : routes_.at(from.node, to.node)) {
            if (wiring_.number[link] != nothing) out.push_back(first + wiring_.number[link]);
        }
    }

private:
    Wiring wiring_;
    HostRoutes routes_;
};

}  // namespace

bool HostRoutes::add(std::uint32_t from, std::uint32_t to, std::span<const std::uint32_t> links) {
    if (links.empty() || links.size() > most_on_a_route || links_.size() + links.size() > most_in_all) return false;
    places_[std::size_t{from} * hosts_ + to] = {links_.size(), links.size()};
    links_.insert(links_.end(), links.begin(), links.end());
    return true;
}

std::shared_ptr<const Fabric> routed_fabric(FabricParts parts, const std::vector<SharedLink>& links,
                                            HostRoutes routes) {
    Wiring wiring = Planner(links, routes).plan();
    parts.nic_bytes_per_second = wiring.cables.front().up.bytes_per_second;
    for (const HostCable& cable : wiring.cables) {
        parts.nic_bytes_per_second =
            std::min({parts.nic_bytes_per_second, cable.up.bytes_per_second, cable.down.bytes_per_second});
    }
    parts.fabric_switch = {"router of a file", 0, 0};
    return std::make_shared<RoutedFabric>(parts, std::move(wiring), std::move(routes));
}

}  // namespace orrery::topology
