#include "sim/link_pressure.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/binding.hpp"

namespace orrery::sim {

namespace {

constexpr double rounding = 1 + 1e-12;
constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// What counts of each used link.
struct Facts {
    std::vector<double> capacity;
    std::vector<bool> is_nic;

    Facts(const HopTable& hops, const topology::Cluster& cluster, const Network& network) {
        for (std::uint32_t link = 0; link < hops.used_links(); ++link) {
            const topology::Link facts = cluster.link(hops.link(link));
            capacity.push_back(network.capacity(facts));
            is_nic.push_back(sim::is_nic(facts));
        }
    }
};

/// Joint capacity of the distinct NICs that each link serves on one side. Hops are added sorted by their GPU on that
/// side, and GPUs of one NIC lie next to each other, so one remembered NIC a link is enough to count each once.
class Side {
public:
    explicit Side(const Facts& facts)
        : facts_(facts), total_(facts.capacity.size(), 0.0), last_(facts.capacity.size(), none) {}

    /// nic: the hop's NIC link on this side; none: it has none, and nothing is known of its traffic. shares: of what
    /// the NIC sends, on each link, the same for all of its hops; empty: all of it.
    void add(std::span<const std::uint32_t> links, std::span<const double> shares, std::uint32_t nic) {
        for (std::size_t i = 0; i < links.size(); ++i) {
            const std::uint32_t link = links[i];
            if (nic != none && last_[link] == nic) continue;
            last_[link] = nic;
            const double share = shares.empty() ? 1.0 : shares[i];
            total_[link] += nic == none ? std::numeric_limits<double>::infinity() : share * facts_.capacity[nic];
        }
    }
    [[nodiscard]] bool slack(std::uint32_t link) const {
        return !facts_.is_nic[link] && total_[link] > 0 && total_[link] <= facts_.capacity[link] * rounding;
    }

private:
    const Facts& facts_;
    std::vector<double> total_;
    std::vector<std::uint32_t> last_;
};

/// Contending hops between nodes, sorted by a GPU: a counting sort.
template <class Gpu>
std::vector<std::uint32_t> sorted_hops(const HopTable& hops, const Gpu& gpu) {
    const auto counts = [&](std::uint32_t hop) { return hops.contends(hop) && !hops.links(hop).empty(); };
    topology::GpuId last = 0;
    for (std::uint32_t hop = 0; hop < hops.size(); ++hop) last = std::max(last, gpu(hop));
    std::vector<std::uint32_t> next(std::size_t{last} + 2);
    for (std::uint32_t hop = 0; hop < hops.size(); ++hop)
        if (counts(hop)) ++next[gpu(hop) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<std::uint32_t> order(next.back());
    for (std::uint32_t hop = 0; hop < hops.size(); ++hop)
        if (counts(hop)) order[next[gpu(hop)]++] = hop;
    return order;
}

/// Whether no link of a node can bind: `nic` is what each of its NICs carries.
bool never_binds(const topology::NodePlan& plan, double nic) {
    std::vector<double> out(plan.links().size()), in = out;
    std::vector<std::uint32_t> last_out(out.size(), none), last_in = last_out;
    const auto add = [&](const topology::NodePlan::Path& path, std::uint32_t number, auto& total, auto& last) {
        for (const std::uint32_t link : path)
            if (std::exchange(last[link], number) != number) total[link] += nic;
    };
    for (std::uint32_t gpu = 0; gpu < plan.gpus(); ++gpu) {
        add(plan.gpu_to_nic(gpu), plan.nic_of(gpu), out, last_out);
        add(plan.nic_to_gpu(gpu), plan.nic_of(gpu), in, last_in);
    }
    for (std::size_t link = 0; link < out.size(); ++link)
        if (out[link] + in[link] > plan.links()[link].link.bytes_per_second) return false;
    return true;
}

}  // namespace

topology::LinkId first_link_that_matters(const topology::Cluster& cluster, const Network& network) {
    const topology::Fabric& fabric = cluster.fabric();
    if (fabric.parts().on_chip || !fabric.connected()) return 0;
    // Where messages change rails inside a node they take more links than those to the NIC.
    const bool own_nic = cluster.routing().policy != topology::RoutingPolicy::rails &&
                         fabric.joins({0, 0}, {1, cluster.nics_per_node() - 1});
    if (!own_nic) return 0;
    const double nic = network.capacity(topology::Link{.bytes_per_second = cluster.nic_bytes_per_second(), .tier = 1});
    for (const topology::NodeGroup& group : cluster.groups())
        if (!never_binds(*group.plan, nic)) return 0;
    return cluster.first_fabric_link();
}

std::vector<bool> slack_links(const HopTable& hops, const topology::Cluster& cluster, const Network& network,
                              const Marks& marks) {
    const Facts facts(hops, cluster, network);
    const auto is_nic = [&](std::uint32_t link) { return facts.is_nic[link]; };
    // Where links are not loaded alike, a NIC may put more of another hop on a link.
    const auto shares = [&](std::uint32_t hop) {
        return cluster.sprays_alike() ? hops.shares(hop) : std::span<const double>{};
    };
    Side senders(facts), receivers(facts);
    for (const std::uint32_t hop : sorted_hops(hops, [&](std::uint32_t h) { return hops.from(h); })) {
        const auto links = hops.links(hop);
        const auto nic = std::find_if(links.begin(), links.end(), is_nic);
        senders.add(links, shares(hop), nic == links.end() ? none : *nic);
    }
    for (const std::uint32_t hop : sorted_hops(hops, [&](std::uint32_t h) { return hops.to(h); })) {
        const auto links = hops.links(hop);
        const auto nic = std::find_if(links.rbegin(), links.rend(), is_nic);
        receivers.add(links, shares(hop), nic == links.rend() ? none : *nic);
    }
    std::vector<bool> slack(hops.used_links());
    for (std::uint32_t link = 0; link < slack.size(); ++link)
        slack[link] = marks.of_link(hops.link(link), cluster.first_fabric_link()) == 0 &&
                      (senders.slack(link) || receivers.slack(link));
    return slack;
}

std::vector<bool> not_of_nics(const HopTable& hops, const topology::Cluster& cluster) {
    std::vector<bool> others(hops.used_links());
    for (std::uint32_t link = 0; link < others.size(); ++link) others[link] = !is_nic(cluster.link(hops.link(link)));
    return others;
}

}  // namespace orrery::sim
