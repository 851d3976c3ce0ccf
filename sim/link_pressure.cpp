#include "sim/link_pressure.hpp"

#include <algorithm>

namespace orrery::sim {

namespace {
constexpr double rounding = 1 + 1e-12;
}

LinkPressure::LinkPressure(const topology::Cluster& cluster, const Network& network)
    : cluster_(cluster), network_(network), senders_(cluster.links()), receivers_(cluster.links()) {}

void LinkPressure::add(topology::GpuId from, topology::GpuId to) {
    if (cluster_.node_of(from) == cluster_.node_of(to)) return;
    const auto route = cluster_.route(from, to);
    const auto is_nic = [&](topology::LinkId id) { return cluster_.link(id).tier == 1; };
    const auto up = std::find_if(route.begin(), route.end(), is_nic);
    const auto down = std::find_if(route.rbegin(), route.rend(), is_nic);
    if (up == route.end()) return;
    std::vector<topology::LinkShare> shares;
    cluster_.shares(from, to, shares);
    for (const auto& [id, share] : shares) {
        if (cluster_.link(id).tier < 2) continue;
        senders_[id].insert(*up);
        receivers_[id].insert(*down);
    }
}

double LinkPressure::total(const std::set<topology::LinkId>& nics) const {
    double sum = 0;
    for (const topology::LinkId nic : nics) sum += network_.capacities()[nic];
    return sum;
}

bool LinkPressure::slack(topology::LinkId link) const {
    if (cluster_.link(link).tier < 2 || senders_[link].empty()) return false;
    return std::min(total(senders_[link]), total(receivers_[link])) <= network_.capacities()[link] * rounding;
}

void LinkPressure::drop_slack(std::vector<LinkUse>& path) const {
    std::erase_if(path, [&](const LinkUse& use) { return slack(use.link); });
}

}  // namespace orrery::sim
