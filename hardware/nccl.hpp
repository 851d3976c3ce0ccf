// What NCCL 2.29 reckons with itself: start-ups of its collectives, and rates of PCIe.
#pragma once

#include <array>

namespace orrery::hardware {

/// src/graph/tuning.cc, ncclTunerConstantsDefaults, in us; per protocol LL, LL128, Simple.
struct NcclLatency {
    std::array<double, 3> tree, ring;
};
inline constexpr NcclLatency nccl_base{{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}};  ///< of a collective
// Of each of its steps.
inline constexpr NcclLatency nccl_nvlink{{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}};
inline constexpr NcclLatency nccl_pci{{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}};
inline constexpr NcclLatency nccl_net{{5.0, 8.5, 14.0}, {2.7, 4.0, 14.0}};

/// src/graph/tuning.cc: of a ring's bytes with LL, half are flags.
inline constexpr double nccl_ll_share = 0.5;

// src/graph/topo.h, bytes per second in each direction: 16 lanes of PCIe Gen4 (twice PCI_BW), of which Intel's
// processors spend a sixth where GPUs send to each other through them (INTEL_P2P_OVERHEAD), and between two sockets of
// Sapphire Rapids (SRP_QPI_BW).
inline constexpr double nccl_pcie4_bytes_per_second = 2 * 12.0e9,
                        nccl_intel_p2p_bytes_per_second = nccl_pcie4_bytes_per_second * 5 / 6,
                        nccl_sapphire_rapids_bytes_per_second = 22e9;

}  // namespace orrery::hardware
