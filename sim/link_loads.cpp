#include "sim/link_loads.hpp"

#include <algorithm>

#include "sim/binding.hpp"

namespace orrery::sim {

namespace {

/// The rounding of sums of some hundred rates.
constexpr double rounding = 1 + 1e-12;

/// told(message of `nics`, route of `all`) for every message of `all`: the flows of the former stand for the latter's.
template <class Told>
void each_message(const Folding& nics, const Folding& all, const Told& told) {
    const auto channels = static_cast<std::uint32_t>(all.traffic.channels.size());
    for (std::uint32_t number = 0; number < all.classes.size(); ++number)
        for (std::uint32_t channel = 0; channel < channels; ++channel)
            if (const std::uint32_t route = all.message(number, channel); route != Folding::none)
                told(nics.message(nics.class_of[all.classes[number].representative], channel), all.messages[route]);
}

}  // namespace

bool LinkLoads::can_watch(const Folding& nics, const Folding& all) {
    bool can = std::ranges::all_of(all.groups, [](const GroupRoute& group) { return group.alone.empty(); });
    each_message(nics, all, [&](std::uint32_t message, const MessageRoute& route) {
        can = can && (route.uses == 0) == (nics.messages[message].uses == 0);
    });
    return can;
}

LinkLoads::LinkLoads(const Folding& nics, const Folding& all, const topology::Cluster& cluster) {
    std::vector<bool> watched;
    for (std::size_t link = 0; link < all.capacities.size(); ++link) {
        links_.push_back({.capacity = all.capacities[link]});
        watched.push_back(!is_nic(cluster.link(all.link_example[link])));
    }
    std::vector<std::vector<LinkUse>> uses(nics.messages.size());
    each_message(nics, all, [&](std::uint32_t message, const MessageRoute& route) {
        for (const LinkUse& use : all.uses_of(route))
            if (watched[use.link]) uses[message].push_back(use);
    });
    first_.push_back(0);
    for (std::vector<LinkUse>& list : uses) {
        std::ranges::sort(list, {}, &LinkUse::link);
        for (const LinkUse& use : list) {
            const bool again = uses_.size() > first_.back() && uses_.back().link == use.link;
            if (again)
                uses_.back().weight += use.weight;
            else
                uses_.push_back(use);
        }
        first_.push_back(static_cast<std::uint32_t>(uses_.size()));
    }
}

void LinkLoads::rate(std::uint64_t tag, double before, double now) {
    for (std::uint32_t i = first_[tag]; i < first_[tag + 1]; ++i) {
        Link& link = links_[uses_[i].link];
        if (before == 0) ++link.flows;
        if (now == 0) --link.flows;
        link.load = link.flows == 0 ? 0 : link.load + uses_[i].weight * (now - before);
        if (!link.changed) changed_.push_back(uses_[i].link);
        link.changed = true;
    }
}

void LinkLoads::settled() {
    for (const std::uint32_t number : changed_) {
        Link& link = links_[number];
        link.changed = false;
        held_ = held_ && link.load <= link.capacity * rounding;
    }
    changed_.clear();
}

}  // namespace orrery::sim
