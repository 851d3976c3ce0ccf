// What RCCL, AMD's NCCL, reckons with where it differs from NCCL (nccl.hpp).
#pragma once

namespace orrery::hardware {

/// Channels of a communicator inside a node, each a workgroup that takes a compute unit: the 28 rings of its model of
/// eight MI300X, each twice (src/graph/rome_models.cc, rome_model_79); of MI355X 112 in as many halves (pull request
/// 2073: "56 CUs for 8 ranks").
inline constexpr unsigned rccl_channels = 56;
/// The four rings of its model of eight dies of MI250X (rome_model_52), each twice.
inline constexpr unsigned rccl_mi250_channels = 8;

/// src/graph/tuning.cc, models of xGMI, us: start-up of a collective and of each step of a ring, LL and Simple.
inline constexpr double rccl_base_ll = 12.0, rccl_base_simple = 17.0;
inline constexpr double rccl_ring_ll = 0.8, rccl_ring_simple = 2.1;

/// src/graph/topo.h, bytes per second of payload over an xGMI link of the MI200 series in one direction.
inline constexpr double rccl_mi200_link_bytes_per_second = 36e9;

}  // namespace orrery::hardware
