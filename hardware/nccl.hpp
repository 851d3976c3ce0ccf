// What NCCL 2.29 reckons with itself: start-ups and rates of its collectives, and rates of PCIe.
#pragma once

#include <array>
#include <cstddef>

#include "hardware/compute_capability.hpp"

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
inline constexpr double nccl_nvls_tree_net = 20.9;        ///< NET, NVLSTree, Simple
inline constexpr double nccl_collnet_net = 31.0;          ///< NET, CollnetDirect, Simple
inline constexpr double nccl_collnet_nvlink = 3.7;        ///< NVLINK, CollnetDirect, Simple
inline constexpr double nccl_network = nccl_net.ring[0];  ///< of the network that the table was taken on

/// Plateau of Simple rings (ncclTopoGetAlgoTime): so many times the latency before Ampere, and since.
inline constexpr double nccl_ring_plateau_volta = 1.9, nccl_ring_plateau = 1.4;

/// src/graph/tuning.cc: shares of a link's bytes that are payload; with LL half of a ring's are flags.
inline constexpr double nccl_ll_share = 0.5;
inline constexpr std::array<double, 3> nccl_ring_share{nccl_ll_share, 0.92, 1.0},
    nccl_tree_share{0.92 / 3.8, 0.92 * 120.0 / 128.0, 0.92};

/// treeCorrectionFactor: of the rate of a tree's all_reduce, whose chunks of medium sizes are small ("not perfectly
/// sticking to the model"), by powers of two from 64 bytes up; of larger ones nothing is taken off.
inline constexpr std::size_t nccl_tree_sizes = 23;
inline constexpr double nccl_tree_least_bytes = 64;
inline constexpr std::array<std::array<double, nccl_tree_sizes>, 3> nccl_tree_correction{{
    {1.0, 1.0, 1.0, 1.0, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1.0, 1.0, 1.0, 1.0},
    {1.0, 1.0, 1.0, 1.0, 1.0, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1.0, 1.0},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};

/// The most that algorithms reach among nodes, GB/s of bus traffic, on 2 nodes and on more. Of LL, by the processor of
/// the host (llMaxBws; a DGX A100 has AMD's, the others Intel's); of the others a channel, by generation: Volta,
/// Ampere, Hopper, Blackwell (perChMaxRingLL128Bws, perChMaxTreeLL128Bws, perChMaxTreeBws, perChMaxNVLSTreeBws).
using NcclByNodes = std::array<double, 2>;
inline constexpr NcclByNodes nccl_ll_intel{39.0, 20.4}, nccl_ll_amd{22.5, 19.0};
using NcclByGeneration = std::array<NcclByNodes, 4>;
inline constexpr NcclByGeneration nccl_ring_ll128{{{20.0, 20.0}, {20.0, 20.0}, {36.7, 36.7}, {40.0, 40.0}}},
    nccl_tree_ll128{{{20.0, 20.0}, {20.0, 20.0}, {36.7, 29.0}, {31.67, 20.0}}},
    nccl_tree_simple{{{18.5, 10.0}, {23.6, 17.8}, {41.4, 36.0}, {42.8, 24.0}}},
    nccl_nvls_tree{{{18.5, 10.0}, {23.6, 17.8}, {57.7, 45.5}, {96.0, 80.0}}};

/// Of NVLS and NVLSTree, each with a part of every GPU's share (src/transport/nvls.cc, NVLS_NCHANNELS).
inline constexpr double nccl_nvls_channels = 16;

/// Channels of a communicator inside a node, each on a multiprocessor of its own: rings on two directions of each
/// NVLink, 6 links of a V100, 12 of an A100; H100 and later 24 ("24 coll channels" in NCCL's log).
constexpr unsigned nccl_channels(int compute_capability) { return compute_capability < ampere ? 12 : 24; }

// src/graph/topo.h, bytes per second in each direction: 16 lanes of PCIe Gen4 (twice PCI_BW), of which Intel's
// processors spend a sixth where GPUs send to each other through them (INTEL_P2P_OVERHEAD), and between two sockets of
// Sapphire Rapids (SRP_QPI_BW).
inline constexpr double nccl_pcie4_bytes_per_second = 2 * 12.0e9,
                        nccl_intel_p2p_bytes_per_second = nccl_pcie4_bytes_per_second * 5 / 6,
                        nccl_sapphire_rapids_bytes_per_second = 22e9;

}  // namespace orrery::hardware
