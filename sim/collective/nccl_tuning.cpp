#include "sim/collective/nccl_tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/enum_table.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "hardware/compute_capability.hpp"
#include "hardware/datasheets.hpp"
#include "hardware/nccl.hpp"

namespace orrery::sim {

namespace {

using kernels::CollectiveKind;
using Generation = Machine::Generation;

constexpr double us = 1e-6;

constexpr hardware::NcclLatency base = hardware::nccl_base, nvlink = hardware::nccl_nvlink, pci = hardware::nccl_pci,
                                net = hardware::nccl_net;
constexpr EnumNames<Protocol> names{"LL", "LL128", "Simple"};
constexpr std::array<Protocol, 3> all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

std::size_t index(Protocol protocol) { return static_cast<std::size_t>(protocol); }

/// What NCCL does not know, chips and cores, counts as Ampere, and so do AMD's GPUs.
Generation generation_of(const topology::Gpu& gpu) {
    if (gpu.compute_capability >= hardware::blackwell) return Generation::blackwell;
    if (gpu.compute_capability >= hardware::hopper) return Generation::hopper;
    if (gpu.compute_capability > 0 && gpu.compute_capability < hardware::ampere) return Generation::volta;
    return Generation::ampere;
}

double ring_latency(std::size_t p, CollectiveKind kind, const Outline& outline, const Shape& shape,
                    const Machine& machine) {
    const double post = shape.nodes > 1 ? machine.post_seconds * (p == 2 ? 3 : 1) : 0;
    const double inside = std::max((machine.nvlink ? nvlink : pci).ring[p] * us, post);
    // With one rank a node latencies are fully exposed: the tree's. Simple flushes after each step, which costs the
    // network's own latency again.
    const double between = (shape.ranks == shape.nodes ? net.tree[p] : net.ring[p]) * us +
                           machine.extra_latency_seconds * (p == 2 ? 2 : 1);
    const double plateau = kind != CollectiveKind::all_reduce || p != 2 || shape.nodes == 1 ? 1
                           : machine.generation == Generation::volta ? hardware::nccl_ring_plateau_volta
                                                                     : hardware::nccl_ring_plateau;
    return plateau *
           (outline.launches * base.ring[p] * us + outline.inner_steps * inside + outline.outer_steps * between);
}

double tree_latency(std::size_t p, const Outline& outline, const Machine& machine) {
    const double between = net.tree[p] * us + machine.extra_latency_seconds * (p == 2 ? 2 : 1);
    return base.tree[p] * us + outline.inner_steps * (machine.nvlink ? nvlink : pci).tree[p] * us +
           outline.outer_steps * between;
}

}  // namespace

std::string_view name(Protocol protocol) { return names[protocol]; }

Protocol find_protocol(std::string_view wanted) {
    constexpr EnumNames<Protocol> spelled{"ll", "ll128", "simple"};
    if (const auto found = spelled.find(wanted)) return *found;
    throw Error(fmt::format("unknown protocol \"{}\"", wanted),
                fmt::format("nearest: {}; one of auto, {}", join(nearest(wanted, spelled)), join(spelled)));
}

namespace {

Machine machine_of_node(const topology::Cluster& cluster, std::uint32_t node) {
    Machine machine;
    machine.generation = generation_of(cluster.gpu_of(node * cluster.gpus_per_node()));
    const topology::NodePlan& plan = cluster.plan_of(node);
    machine.nics = std::max(1U, cluster.nics_per_node());
    machine.nvlink = plan.gpus() == 1 || std::ranges::any_of(plan.links(), [](const topology::NodeLink& l) {
                         return topology::joins_gpus(l.link.kind);
                     });
    machine.nvls = plan.has_nvswitch() && machine.generation >= Generation::hopper;
    if (machine.generation == Generation::ampere && machine.nvlink) machine.post_seconds = 2 * us;  // DGX A100: AMD
    return machine;
}

}  // namespace

Machine machine_of(const topology::Cluster& cluster, topology::GpuId from, topology::GpuId to,
                   std::span<const std::uint32_t> nodes) {
    Machine machine = machine_of_node(cluster, nodes.front());
    for (const std::uint32_t node : nodes.subspan(1)) {
        const Machine other = machine_of_node(cluster, node);
        machine.generation = std::min(machine.generation, other.generation);
        machine.nvlink = machine.nvlink && other.nvlink;
        machine.nvls = machine.nvls && other.nvls;
        machine.post_seconds = std::max(machine.post_seconds, other.post_seconds);
    }
    machine.libraries = cluster.fabric().parts().libraries;
    machine.efa = cluster.fabric().parts().adapter.name == hardware::efa_adapter.name;
    if (cluster.fabric().parts().on_chip) machine.chip_hop_seconds = hardware::chip_hop_seconds;
    if (cluster.node_of(from) == cluster.node_of(to)) return machine;
    // aws-ofi-nccl sets NCCL_PROTO=simple where EFA does not keep 128 bytes in order: before the p5's generation of it.
    machine.simple_only = machine.generation <= Generation::ampere && machine.efa;
    machine.extra_latency_seconds = std::max(0.0, cluster.latency_seconds(from, to) - hardware::nccl_network * us);
    return machine;
}

Machine machine_of(const topology::Cluster& cluster, topology::GpuId from, topology::GpuId to) {
    const std::uint32_t node = cluster.node_of(from);
    return machine_of(cluster, from, to, {&node, 1});
}

std::span<const Protocol> protocols_of(const Algorithm& algorithm, CollectiveKind, const Machine& machine) {
    const std::span all(all_protocols);
    const bool nccl = machine.host_message_seconds == 0 && machine.chip_hop_seconds == 0;
    const bool several = algorithm.protocols && !machine.simple_only && nccl;
    return several ? all : all.last(1);
}

double latency_seconds(const Algorithm& algorithm, Protocol protocol, CollectiveKind kind, const Outline& outline,
                       const Shape& shape, const Machine& machine) {
    if (shape.ranks <= 1) return 0;
    if (machine.chip_hop_seconds > 0) return (outline.inner_steps + outline.outer_steps) * machine.chip_hop_seconds;
    // The first message waits for the next rank's word that it is there.
    if (machine.host_message_seconds > 0)
        return (1 + outline.inner_steps + outline.outer_steps) * machine.host_message_seconds;
    const std::size_t p = index(protocol);
    const double flushed = 2 * machine.extra_latency_seconds;
    switch (algorithm.latencies) {
        case Latencies::ring: return ring_latency(p, kind, outline, shape, machine);
        case Latencies::tree: return tree_latency(p, outline, machine);
        case Latencies::in_switch: return outline.outer_steps * (hardware::nccl_nvls_tree_net * us + flushed);
        case Latencies::in_network:
            return outline.inner_steps * hardware::nccl_collnet_nvlink * us +
                   outline.outer_steps * (hardware::nccl_collnet_net * us + flushed);
        case Latencies::messages: break;
    }
    const double post = shape.nodes > 1 ? 3 * machine.post_seconds : 0;
    return outline.launches * base.ring[p] * us + outline.inner_steps * nvlink.ring[p] * us +
           outline.outer_steps * (net.ring[p] * us + machine.extra_latency_seconds) + outline.posts * post;
}

double send_latency_seconds(const Machine& machine) {
    if (machine.chip_hop_seconds > 0) return machine.chip_hop_seconds + machine.extra_latency_seconds;
    // The receiver's word that it is there, then the message.
    if (machine.host_message_seconds > 0) return 2 * machine.host_message_seconds;
    return (base.ring[2] + net.ring[2]) * us + machine.extra_latency_seconds;
}

double efficiency(const Algorithm& algorithm, Protocol protocol) {
    const bool tree = algorithm.latencies == Latencies::tree;
    return (tree ? hardware::nccl_tree_share : hardware::nccl_ring_share)[index(protocol)];
}

double tree_correction(const Algorithm& algorithm, Protocol protocol, double bytes) {
    if (algorithm.latencies != Latencies::tree) return 1;
    const auto& table = hardware::nccl_tree_correction[index(protocol)];
    const double place = std::log2(std::max(1.0, bytes / hardware::nccl_tree_least_bytes));
    const auto below = static_cast<std::size_t>(place);
    if (below >= table.size()) return 1;
    const double above = below + 1 < table.size() ? table[below + 1] : 1;
    return table[below] + (above - table[below]) * (place - static_cast<double>(below));
}

double bus_limit(const Algorithm& algorithm, Protocol protocol, std::uint32_t nodes, std::uint32_t rails,
                 const Machine& machine) {
    constexpr double GB = 1e9;
    if (nodes < 2) return std::numeric_limits<double>::infinity();
    const std::size_t scale = nodes == 2 ? 0 : 1, generation = static_cast<std::size_t>(machine.generation);
    const double channels = std::min(rails, machine.nics);
    if (algorithm.latencies == Latencies::in_switch) return channels * hardware::nccl_nvls_tree[generation][scale] * GB;
    if (protocol == Protocol::ll)
        return (machine.generation == Generation::ampere ? hardware::nccl_ll_amd : hardware::nccl_ll_intel)[scale] * GB;
    if (algorithm.latencies == Latencies::tree) {
        const double whole = hardware::nccl_tree_simple[generation][scale];
        const double lines = hardware::nccl_tree_ll128[generation][scale];
        return channels * (protocol == Protocol::ll128 ? std::min(whole, lines) : whole) * GB;
    }
    if (protocol == Protocol::ll128) return channels * hardware::nccl_ring_ll128[generation][scale] * GB;
    return std::numeric_limits<double>::infinity();
}

/// NCCL src/enqueue.cc (calcCollChunking): chunks shrink until 8 times the tree's depth of them are under way, between
/// 32 KiB and a step of the buffer (512 KiB), on two channels a rail; with NVLS 4 to 16 rounds of 32 to 128 KiB, on 16
/// channels of each head.
double chunk_bytes(Protocol protocol, double bytes, double depth, std::uint32_t rails, bool in_switch) {
    constexpr double KiB = hardware::kibibyte;
    if (in_switch) {
        const double heads = hardware::nccl_nvls_channels * rails;
        return std::min(bytes, std::clamp(bytes / 8, heads * 32 * KiB, heads * hardware::nccl_nvls_chunk));
    }
    const double channels = 2.0 * rails, most = protocol == Protocol::ll ? 32 * KiB : hardware::nccl_step_bytes;
    return std::min(bytes, std::clamp(bytes / (8 * std::max(1.0, depth)), channels * 32 * KiB, channels * most));
}

}  // namespace orrery::sim
