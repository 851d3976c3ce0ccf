// What kernels lose beside a collective.
#pragma once

#include <span>

#include "calibrate/predictor.hpp"
#include "sim/network.hpp"

namespace orrery::sim {

/// Seconds that kernels take longer for each that a collective beside them takes alone.
struct Contention {
    double whole = 0;    ///< kernels on all multiprocessors
    double traffic = 0;  ///< those that leave the collective's multiprocessors to it (kernels::Gemm::spared)
};

/// A profile's `overlap_slowdown` is how many times as long a kernel takes while a collective runs inside its node. The
/// collective's channels take multiprocessors from it, one each, and what it moves the rest. Among nodes NCCL has two
/// channels for each NIC that the group's ranks of a node use (src/graph/connect.cc, ncclTopoPostset), and moves what
/// these carry; RCCL is taken to do likewise. A processor without multiprocessors (a chip, too) counts as a core.
Contention contention_of(const Network& network, std::span<const topology::GpuId> group, const topology::Gpu& gpu,
                         const calibrate::Predictor& predictor);

/// On a core, which does both: as much longer as what runs beside, be it a copy, by `overlap_slowdown` - 1.
Contention contention_on_core(const calibrate::Predictor& predictor);

/// No collective on the network costs kernels less.
double least_contention(const Network& network, const topology::Gpu& gpu, const calibrate::Predictor& predictor);

}  // namespace orrery::sim
