#include "sim/link_pressure.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace orrery::sim {

namespace {

constexpr double rounding = 1 + 1e-12;
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Joint capacity of the distinct NICs that each link serves on one side. Hops come sorted by their GPU on that side,
/// GPUs of one NIC lie next to each other, so one remembered NIC a link is enough to count each once.
class Side {
public:
    Side(const HopTable& hops, const topology::Cluster& cluster, const Network& network)
        : hops_(hops), total_(hops.used_links(), 0.0), last_(hops.used_links(), none) {
        for (std::uint32_t link = 0; link < hops.used_links(); ++link) {
            is_nic_.push_back(cluster.link(hops.link(link)).tier == 1);
            capacity_.push_back(network.capacity(hops.link(link)));
        }
    }

    void add_senders(std::span<const std::uint32_t> order) {
        for (const std::uint32_t hop : order) {
            const auto links = hops_.links(hop);
            const auto nic = std::find_if(links.begin(), links.end(), [&](std::uint32_t l) { return is_nic_[l]; });
            add(links, nic == links.end() ? none : *nic);
        }
    }
    void add_receivers(std::span<const std::uint32_t> order) {
        for (const std::uint32_t hop : order) {
            const auto links = hops_.links(hop);
            const auto nic = std::find_if(links.rbegin(), links.rend(), [&](std::uint32_t l) { return is_nic_[l]; });
            add(links, nic == links.rend() ? none : *nic);
        }
    }
    [[nodiscard]] bool slack(std::uint32_t link) const {
        return !is_nic_[link] && total_[link] > 0 && total_[link] <= capacity_[link] * rounding;
    }

private:
    void add(std::span<const std::uint32_t> links, std::uint32_t nic) {
        for (const std::uint32_t link : links) {
            if (nic != none && last_[link] == nic) continue;
            last_[link] = nic;
            total_[link] += nic == none ? std::numeric_limits<double>::infinity() : capacity_[nic];
        }
    }

    const HopTable& hops_;
    std::vector<double> total_, capacity_;
    std::vector<std::uint32_t> last_;
    std::vector<bool> is_nic_;
};

/// Contending hops between nodes, sorted by a GPU.
template <class Gpu>
std::vector<std::uint32_t> sorted_hops(const HopTable& hops, const Gpu& gpu) {
    std::vector<std::uint32_t> order;
    for (std::uint32_t hop = 0; hop < hops.size(); ++hop)
        if (hops.contends(hop) && !hops.links(hop).empty()) order.push_back(hop);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return gpu(a) < gpu(b); });
    return order;
}

}  // namespace

std::vector<bool> slack_links(const HopTable& hops, const topology::Cluster& cluster, const Network& network) {
    Side senders(hops, cluster, network), receivers(hops, cluster, network);
    senders.add_senders(sorted_hops(hops, [&](std::uint32_t hop) { return hops.from(hop); }));
    receivers.add_receivers(sorted_hops(hops, [&](std::uint32_t hop) { return hops.to(hop); }));
    std::vector<bool> slack(hops.used_links());
    for (std::uint32_t link = 0; link < slack.size(); ++link)
        slack[link] = senders.slack(link) || receivers.slack(link);
    return slack;
}

}  // namespace orrery::sim
