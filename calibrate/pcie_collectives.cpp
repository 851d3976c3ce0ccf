#include "calibrate/pcie_collectives.hpp"

#include <algorithm>

#include "hardware/nccl.hpp"

namespace orrery::calibrate {

namespace {

using kernels::CollectiveKind;

constexpr double us = 1e-6;

/// Of the slowest link of a ring: two ranks share a switch, four a socket.
double ring_rate(std::uint32_t ranks) {
    if (ranks <= 2) return hardware::nccl_pcie4_bytes_per_second;
    if (ranks <= 4) return hardware::nccl_intel_p2p_bytes_per_second;
    return std::min(hardware::nccl_intel_p2p_bytes_per_second, hardware::nccl_sapphire_rapids_bytes_per_second);
}

/// The quicker of LL and Simple; LL128 needs NVLink.
double ring_seconds(CollectiveKind kind, std::uint32_t ranks, double bytes) {
    constexpr std::size_t ll = 0, simple = 2;
    const double steps = (kind == CollectiveKind::all_reduce ? 2 : 1) * (ranks - 1.0);
    const double wire = kernels::bus_factor(kind, ranks) * bytes / ring_rate(ranks);
    const auto with = [&](std::size_t protocol, double share) {
        return (hardware::nccl_base.ring[protocol] + steps * hardware::nccl_pci.ring[protocol]) * us + wire / share;
    };
    return std::min(with(ll, hardware::nccl_ll_share), with(simple, 1));
}

}  // namespace

std::vector<CollectiveTable> pcie_collectives(const std::string& device) {
    const Provenance provenance{
        .device = device,
        .clocks = "",
        .date = "",
        .software = "NCCL 2.29",
        .origin = "NCCL's own cost model of its rings on PCIe Gen4 (src/graph/tuning.cc, topo.h; estimate)",
        .licence = "figures quoted"};
    std::vector<CollectiveTable> tables;
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
        for (const std::uint32_t ranks : {2U, 4U, 8U}) {
            CollectiveTable& table = tables.emplace_back(CollectiveTable{kind, ranks, provenance, {}});
            for (double bytes = 1024; bytes <= 1024.0 * 1024 * 1024; bytes *= 2)
                table.points.push_back({bytes, ring_seconds(kind, ranks, bytes)});
        }
    }
    return tables;
}

}  // namespace orrery::calibrate
