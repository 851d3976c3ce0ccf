#include "topology/simgrid_zones.hpp"

#include <algorithm>

namespace orrery::topology {

namespace {

void append(const SimgridZones::Links& links, SimgridZones::Links& out) {
    out.insert(out.end(), links.begin(), links.end());
}

}  // namespace

std::uint32_t SimgridZones::add(NetPoint point) {
    points_.push_back(std::move(point));
    return static_cast<std::uint32_t>(points_.size() - 1);
}

std::uint32_t SimgridZones::add_link(const std::string& name, double bytes_per_second, double seconds, bool duplex) {
    const auto id = static_cast<std::uint32_t>(links_.size());
    links_.push_back({name, bytes_per_second, seconds, duplex ? id + 1 : id});
    if (duplex) links_.push_back({name, bytes_per_second, seconds, id});
    return id;
}

bool SimgridZones::add_route(std::uint32_t from, std::uint32_t to, Route route) {
    return routes_.try_emplace({from, to}, std::move(route)).second;
}

SimgridZones::Route SimgridZones::reversed(const Route& route) const {
    Route back{.leave = route.enter, .enter = route.leave};
    for (auto link = route.links.rbegin(); link != route.links.rend(); ++link) back.links.push_back(links_[*link].back);
    return back;
}

bool SimgridZones::holds(std::uint32_t zone, std::uint32_t point) const {
    for (std::uint32_t at = points_[point].zone; at != nothing; at = points_[at].zone) {
        if (at == zone) return true;
    }
    return false;
}

std::uint32_t SimgridZones::depth(std::uint32_t point) const {
    std::uint32_t zones = 0;
    for (std::uint32_t at = points_[point].zone; at != nothing; at = points_[at].zone) ++zones;
    return zones;
}

void SimgridZones::route(std::uint32_t from, std::uint32_t to, Links& out) const {
    if (from == to) return;
    std::uint32_t a = from, b = to, deep_a = depth(a), deep_b = depth(b);
    for (; deep_a > deep_b; --deep_a) a = points_[a].zone;
    for (; deep_b > deep_a; --deep_b) b = points_[b].zone;
    while (points_[a].zone != points_[b].zone) a = points_[a].zone, b = points_[b].zone;
    if (a == from && b == to) return route_in_zone(from, to, out);
    const auto at = routes_.find({a, b});
    if (at == routes_.end()) throw NoRoute(points_[a].name + " to " + points_[b].name);
    const Route& between = at->second;
    // A gateway lies inside its zone (checked when read), so each step goes further down.
    if (between.leave != nothing) route(from, between.leave, out);
    append(between.links, out);
    if (between.enter != nothing) route(between.enter, to, out);
}

void SimgridZones::route_in_zone(std::uint32_t from, std::uint32_t to, Links& out) const {
    const NetPoint& zone = points_[points_[from].zone];
    if (zone.is_cluster) {
        append(points_[from].up, out);
        append(zone.backbone, out);
        return append(points_[to].down, out);
    }
    const auto at = routes_.find({from, to});
    if (at == routes_.end()) throw NoRoute(points_[from].name + " to " + points_[to].name);
    append(at->second.links, out);
}

}  // namespace orrery::topology
