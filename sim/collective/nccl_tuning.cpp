#include "sim/collective/nccl_tuning.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace orrery::sim {

namespace {

using kernels::CollectiveKind;

constexpr double us = 1e-6;

// NCCL, src/graph/tuning.cc, ncclTunerConstantsDefaults, in us; per protocol LL, LL128, Simple.
struct Latencies {
    std::array<double, 3> tree, ring;
};
constexpr Latencies base{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};
constexpr Latencies nvlink{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
constexpr Latencies net{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}};
constexpr double net_overhead = 1.0;              // getNetOverhead, x86; three times for Simple
constexpr double ll_max_bytes_per_second = 20e9;  // llMaxBws, several nodes: 19 to 22.5 GB/s

constexpr std::array<std::string_view, 3> protocols{"LL", "LL128", "Simple"};
constexpr std::array<double, 3> ring_efficiency{0.5, 0.92, 1.0};
constexpr std::array<double, 3> tree_efficiency{0.92 / 3.8, 0.92 * 120.0 / 128.0, 0.92};

double steps(CollectiveKind kind, double n) {
    switch (kind) {
        case CollectiveKind::all_reduce: return 2.0 * (n - 1.0);
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_to_all: return n - 1.0;
        case CollectiveKind::broadcast: return n;
        case CollectiveKind::send_recv: return 1.0;
    }
    return 1.0;
}

double ring_latency(CollectiveKind kind, std::uint32_t ranks, std::uint32_t nodes, std::size_t protocol) {
    if (kind == CollectiveKind::send_recv) return base.ring[protocol] + net.ring[protocol];
    const bool alone = ranks == nodes;  // one rank a node: latencies are fully exposed
    const double inter = alone ? net.tree[protocol] : net.ring[protocol];
    const double overhead = protocol == 2 ? 3 * net_overhead : net_overhead;
    const double intra = std::max(nvlink.ring[protocol], overhead);
    // All-to-all is not a ring: every peer is one message, posted one after the other.
    if (kind == CollectiveKind::all_to_all) return base.ring[protocol] + inter + steps(kind, ranks) * overhead;
    const double inter_steps = kind == CollectiveKind::all_reduce ? 2.0 * (nodes - 1.0) : nodes - 1.0;
    return base.ring[protocol] + (steps(kind, ranks) - inter_steps) * intra + inter_steps * inter;
}

double tree_latency(std::uint32_t ranks, std::uint32_t nodes, std::size_t protocol) {
    const double levels = std::bit_width(nodes) - 1;  // log2i
    return base.tree[protocol] +
           2.0 * ((static_cast<double>(ranks) / nodes - 1.0) * nvlink.tree[protocol] + levels * net.tree[protocol]);
}

}  // namespace

std::vector<CollectiveOption> nccl_options(CollectiveKind kind, std::uint32_t ranks, std::uint32_t nodes) {
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    std::vector<CollectiveOption> options;
    for (std::size_t p = 0; p < protocols.size(); ++p) {
        const bool simple_only = kind == CollectiveKind::send_recv || kind == CollectiveKind::all_to_all;
        if (simple_only && p != 2) continue;  // point-to-point messages use Simple
        const double limit = p == 0 ? ll_max_bytes_per_second : unlimited;
        options.push_back({"ring", protocols[p], ring_latency(kind, ranks, nodes, p) * us, ring_efficiency[p], limit});
        if (kind == CollectiveKind::all_reduce)
            options.push_back({"tree", protocols[p], tree_latency(ranks, nodes, p) * us, tree_efficiency[p], limit});
    }
    return options;
}

}  // namespace orrery::sim
