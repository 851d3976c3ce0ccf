#include "scenarios/background.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace orrery::scenarios {

namespace {

using topology::Cluster;
using topology::GpuId;
using Kind = TrafficEnd::Kind;

void check(const TrafficEnd& end, const Cluster& cluster) {
    const bool gpus = end.kind == Kind::gpus;
    const std::uint32_t count = gpus ? cluster.gpus() : cluster.nodes();
    const char* word = gpus ? "GPU" : "node";
    if (end.last >= count)
        throw Error(fmt::format("{} {} of {}", word, end.last, count), fmt::format("{}s are 0 to {}", word, count - 1));
    if (end.kind == Kind::nics && end.nic >= cluster.nics_per_node())
        throw Error(fmt::format("NIC {} of {}", end.nic, cluster.nics_per_node()),
                    fmt::format("NICs of a node are 0 to {}", cluster.nics_per_node() - 1));
}

/// The first GPU that sends through a NIC.
GpuId gpu_at(std::uint32_t node, std::uint32_t nic, const Cluster& cluster) {
    const topology::NodePlan& plan = cluster.plan_of(node);
    for (std::uint32_t local = 0; local < cluster.gpus_per_node(); ++local)
        if (plan.nic_of(local) == nic) return node * cluster.gpus_per_node() + local;
    throw Error(fmt::format("no GPU of node {} sends through its NIC {}", node, nic), "name another NIC");
}

/// Its GPU: of a node, the one at the NIC.
GpuId gpu_of(const TrafficEnd& end, std::uint32_t member, std::uint32_t nic, const Cluster& cluster) {
    return end.kind == Kind::gpus ? member : gpu_at(member, end.kind == Kind::nics ? end.nic : nic, cluster);
}

}  // namespace

std::vector<BackgroundFlow> flows_of(const Background& b, const Cluster& cluster) {
    check(b.from, cluster);
    check(b.to, cluster);
    const std::uint32_t senders = b.from.last - b.from.first + 1, receivers = b.to.last - b.to.first + 1;
    if (senders != receivers && senders > 1 && receivers > 1)
        throw Error(fmt::format("{} senders and {} receivers", senders, receivers),
                    "name ranges of equal length, whose members are paired, or one member on one side");
    if (b.from.kind != b.to.kind)
        throw Error("the two ends are of different kinds", "name GPUs, nodes, or nodes with a NIC on both sides");
    const std::uint32_t side_by_side = b.from.kind == Kind::nodes ? cluster.nics_per_node() : 1;
    std::vector<BackgroundFlow> flows;
    for (std::uint32_t i = 0; i < std::max(senders, receivers); ++i) {
        const std::uint32_t from = b.from.first + (senders > 1 ? i : 0), to = b.to.first + (receivers > 1 ? i : 0);
        for (std::uint32_t nic = 0; nic < side_by_side; ++nic) {
            const GpuId source = gpu_of(b.from, from, nic, cluster), sink = gpu_of(b.to, to, nic, cluster);
            if (cluster.node_of(source) == cluster.node_of(sink))
                throw Error(fmt::format("both ends lie in node {}", cluster.node_of(source)),
                            "name two nodes: transfers inside a node share no links with others");
            flows.push_back({source, sink, b.from.kind != Kind::gpus, b.bytes_per_second / side_by_side, b.when});
        }
    }
    return flows;
}

}  // namespace orrery::scenarios
