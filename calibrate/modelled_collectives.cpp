#include "calibrate/modelled_collectives.hpp"

#include <algorithm>

#include "hardware/nccl.hpp"
#include "hardware/rccl.hpp"

namespace orrery::calibrate {

namespace {

using kernels::CollectiveKind;

constexpr double us = 1e-6;

/// A protocol of rings: microseconds of a collective's start and of each of its steps, and the share of payload.
struct Protocol {
    double start, step, share;
};

struct Library {
    Protocol ll, simple;
    double (*ring_rate)(std::uint32_t ranks);  ///< bytes per second of all rings together
    const char *software, *origin;
};

/// Of the slowest link of a ring: two ranks share a switch, four a socket.
double pcie_rate(std::uint32_t ranks) {
    if (ranks <= 2) return hardware::nccl_pcie4_bytes_per_second;
    if (ranks <= 4) return hardware::nccl_intel_p2p_bytes_per_second;
    return std::min(hardware::nccl_intel_p2p_bytes_per_second, hardware::nccl_sapphire_rapids_bytes_per_second);
}

/// Four links join the two dies of a package, one each a die to two or three others: two rings and their reversals use
/// each link between packages once. Among four dies of two packages one ring and its reversal are left.
double mi250x_rate(std::uint32_t ranks) {
    const double rings = ranks <= 2 ? 4 : ranks <= 4 ? 2 : 4;
    return rings * hardware::rccl_mi200_link_bytes_per_second;
}

/// The third of NCCL's protocols, LL128, needs NVLink.
constexpr std::size_t ll = 0, simple = 2;
constexpr Library nccl_on_pcie{
    {hardware::nccl_base.ring[ll], hardware::nccl_pci.ring[ll], hardware::nccl_ll_share},
    {hardware::nccl_base.ring[simple], hardware::nccl_pci.ring[simple], 1},
    pcie_rate,
    "NCCL 2.29",
    "NCCL's own cost model of its rings on PCIe Gen4 (src/graph/tuning.cc, topo.h; estimate)"};
constexpr Library rccl_on_mi250x{
    {hardware::rccl_base_ll, hardware::rccl_ring_ll, hardware::nccl_ll_share},
    {hardware::rccl_base_simple, hardware::rccl_ring_simple, 1},
    mi250x_rate,
    "RCCL 2.22",
    "RCCL's own cost model of its rings on xGMI (src/graph/rome_models.cc, tuning.cc, topo.h; estimate)"};

/// The quicker of both protocols.
double ring_seconds(const Library& library, CollectiveKind kind, std::uint32_t ranks, double bytes) {
    const double steps = (kind == CollectiveKind::all_reduce ? 2 : 1) * (ranks - 1.0);
    const double wire = kernels::bus_factor(kind, ranks) * bytes / library.ring_rate(ranks);
    const auto with = [&](const Protocol& p) { return (p.start + steps * p.step) * us + wire / p.share; };
    return std::min(with(library.ll), with(library.simple));
}

std::vector<CollectiveTable> tables_of(const Library& library, const std::string& device) {
    const Provenance provenance{.device = device,
                                .clocks = "",
                                .date = "",
                                .software = library.software,
                                .origin = library.origin,
                                .licence = "figures quoted"};
    std::vector<CollectiveTable> tables;
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
        for (const std::uint32_t ranks : {2U, 4U, 8U}) {
            CollectiveTable& table = tables.emplace_back(CollectiveTable{kind, ranks, provenance, {}});
            for (double bytes = 1024; bytes <= 1024.0 * 1024 * 1024; bytes *= 2)
                table.points.push_back({bytes, ring_seconds(library, kind, ranks, bytes)});
        }
    }
    return tables;
}

}  // namespace

std::vector<CollectiveTable> pcie_collectives(const std::string& device) { return tables_of(nccl_on_pcie, device); }

std::vector<CollectiveTable> mi250x_collectives(const std::string& device) { return tables_of(rccl_on_mi250x, device); }

}  // namespace orrery::calibrate
