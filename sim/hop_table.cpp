#include "sim/hop_table.hpp"

#include <algorithm>
#include <limits>
#include <new>

namespace orrery::sim {

namespace {
constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();
}

HopTable::HopTable(const topology::Cluster& cluster, topology::LinkId first_link)
    : cluster_(cluster), first_link_(first_link) {
    const std::size_t links = cluster.links() - first_link;
    number_.reset(static_cast<std::uint32_t*>(std::calloc(links, sizeof(std::uint32_t))));
    if (number_ == nullptr && links > 0) throw std::bad_alloc();
}

void HopTable::expect(std::size_t hops) {
    constexpr std::size_t usual_links = 6;  // two NICs, and up and down two tiers of switches
    const std::size_t all = size() + hops;
    from_.reserve(all);
    to_.reserve(all);
    contends_.reserve(all);
    first_.reserve(all + 1);
    links_.reserve(links_.size() + usual_links * hops);
    link_.reserve(link_.size() + usual_links * hops);
}

std::uint32_t HopTable::number_of(topology::LinkId link) {
    std::uint32_t& number = number_.get()[link - first_link_];
    if (number == 0) {
        link_.push_back(link);
        number = used_links();
    }
    return number - 1;
}

/// In the order of a route, so that a hop's first NIC is the sender's and its last the receiver's.
void HopTable::add_sprayed(topology::GpuId from, topology::GpuId to, topology::LinkId first_link) {
    cluster_.loads(from, to, sprayed_);
    if (!cluster_.sprays_alike()) {
        cluster_.route(from, to, route_);
        const auto place = [&](const topology::LinkShare& share) {
            const auto found = std::find(route_.begin(), route_.end(), share.link);
            return found == route_.end() ? static_cast<std::ptrdiff_t>(route_.size() / 2) : found - route_.begin();
        };
        std::stable_sort(sprayed_.begin(), sprayed_.end(),
                         [&](const auto& a, const auto& b) { return place(a) < place(b); });
    }
    for (const auto& [link, share] : sprayed_) {
        if (link < first_link) continue;
        links_.push_back(number_of(link));
        shares_.push_back(share);
    }
}

std::uint32_t HopTable::add(topology::GpuId from, topology::GpuId to, bool contends, topology::LinkId first_link) {
    first_link = std::max(first_link, first_link_);
    if (cluster_.node_of(from) != cluster_.node_of(to)) {
        if (cluster_.routing().policy == topology::RoutingPolicy::spray) {
            add_sprayed(from, to, first_link);
        } else {
            cluster_.route(from, to, route_);
            for (const topology::LinkId link : route_)
                if (link >= first_link) links_.push_back(number_of(link));
        }
    }
    from_.push_back(from);
    to_.push_back(to);
    contends_.push_back(contends);
    first_.push_back(static_cast<std::uint32_t>(links_.size()));
    return size() - 1;
}

void HopTable::drop_links(const std::vector<bool>& drop) {
    std::vector<std::uint32_t> renumbered(used_links(), unused);
    std::uint32_t kept = 0;
    for (std::uint32_t link = 0; link < renumbered.size(); ++link) {
        if (drop[link]) continue;
        link_[kept] = link_[link];
        renumbered[link] = kept++;
    }
    link_.resize(kept);
    std::uint32_t write = 0, read = 0;
    for (std::uint32_t hop = 0; hop < size(); ++hop) {
        for (; read < first_[hop + 1]; ++read) {
            if (renumbered[links_[read]] == unused) continue;
            if (!shares_.empty()) shares_[write] = shares_[read];
            links_[write++] = renumbered[links_[read]];
        }
        first_[hop + 1] = write;
    }
    links_.resize(write);
    if (!shares_.empty()) shares_.resize(write);
    number_.reset();  // numbers of before; no hop is added after this
}

}  // namespace orrery::sim
