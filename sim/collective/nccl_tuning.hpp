// NCCL's own cost model of its algorithms and protocols: latencies and efficiencies.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "hardware/network_libraries.hpp"
#include "sim/collective/algorithms.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// How data and flags travel. LL: 4 bytes of data with 4 of flag, no waiting; LL128: 120 of 128 bytes; Simple: whole
/// chunks with a fence and a flag after them.
enum class Protocol : std::uint8_t { ll, ll128, simple };
std::string_view name(Protocol protocol);
/// "ll", "ll128", "simple"; throws Error with the nearest names.
Protocol find_protocol(std::string_view name);

/// What NCCL's tuning asks of the machine.
struct Machine {
    enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };
    Generation generation = Generation::ampere;
    bool nvlink = true;                ///< or xGMI; else PCIe
    std::uint32_t nics = 1;            ///< of a node: NCCL opens a channel for each
    bool nvls = false;                 ///< NVSwitch that reduces and multicasts: Hopper and later
    double post_seconds = 1e-6;        ///< host's cost of a network message (getNetOverhead: Intel 1 us, AMD 2 us)
    double extra_latency_seconds = 0;  ///< of the network, beyond the InfiniBand that NCCL's table was taken on
    bool efa = false;                  ///< Amazon's adapters, by their plugin
    hardware::NetworkLibraries libraries = {};
    bool simple_only = false;  ///< the network gives no guarantee of order within 128 bytes
    /// Of one message between hosts, without its bytes, measured (a profile's host_message_seconds). Positive: no NCCL,
    /// but kernels/tcp's rings of messages, each step one message. Zero: NCCL.
    double host_message_seconds = 0;
    /// Of one hop between neighbours among chips with links of their own. Positive: no NCCL, but a compiled program
    /// whose chips write into each other's memory, each step one hop. Zero: NCCL.
    double chip_hop_seconds = 0;
};
/// `from`, `to`: GPUs of different nodes whose distance counts (the same GPU: one node). nodes: one of each kind that
/// takes part; of several kinds what they have in common counts, as in NCCL, whose ranks exchange it (src/init.cc: the
/// lowest compute capability, the slower type of link, the fewest channels) and which uses NVLS where all have it.
Machine machine_of(const topology::Cluster& cluster, topology::GpuId from, topology::GpuId to,
                   std::span<const std::uint32_t> nodes);
Machine machine_of(const topology::Cluster& cluster, topology::GpuId from, topology::GpuId to);

/// Protocols that an algorithm can use on the machine.
std::span<const Protocol> protocols_of(const Algorithm& algorithm, kernels::CollectiveKind kind,
                                       const Machine& machine);

/// Start-ups of an outline on its critical path, base latency included, seconds.
double latency_seconds(const Algorithm& algorithm, Protocol protocol, kernels::CollectiveKind kind,
                       const Outline& outline, const Shape& shape, const Machine& machine);

/// Of one message between two GPUs of different nodes, without its bytes.
double send_latency_seconds(const Machine& machine);

/// Share of a link's bandwidth that carries payload.
double efficiency(const Algorithm& algorithm, Protocol protocol);

/// What is left of a tree's rate in an all_reduce of so many bytes, between the sizes of NCCL's table along the
/// logarithm; 1 for other algorithms.
double tree_correction(const Algorithm& algorithm, Protocol protocol, double bytes);

/// The most bytes per second of bus traffic (2S for a tree's all_reduce) that an algorithm reaches with a protocol
/// between nodes, over so many rails; infinite where NCCL knows no limit.
double bus_limit(const Algorithm& algorithm, Protocol protocol, std::uint32_t nodes, std::uint32_t rails,
                 const Machine& machine);

/// Bytes of a chunk on all channels together: what flows through a tree in one go.
double chunk_bytes(Protocol protocol, double bytes, double depth, std::uint32_t rails, bool in_switch);

}  // namespace orrery::sim
