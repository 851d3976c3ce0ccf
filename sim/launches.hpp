// What the host does for a kernel beside its first launch.
#pragma once

#include <cstdint>

#include "hardware/host_time.hpp"
#include "kernels/kernel.hpp"
#include "strategies/plan.hpp"

namespace orrery::sim {

/// A kernel of a step program as the host hands it out: in equal parts, one after the other.
struct Launches {
    std::uint32_t parts = 1;
    double further = 0;  ///< seconds of the host for each part behind the first
    bool operator==(const Launches&) const = default;
};

/// Of a kernel on routed tokens that no graph holds. Transformer Engine and Megatron-LM's grouped products loop over a
/// rank's experts (nvte_multi_stream_cublas_gemm, grouped_gemm's CublasGroupedGemm), and so do their casts to fp8, but
/// for those by scales of steps before, which one kernel makes of all (multi_tensor_quantize). launch_seconds: of one
/// call of the driver.
Launches launches_of(const kernels::Kernel& kernel, const strategies::Plan& plan, hardware::HostProcessor host,
                     double launch_seconds);

/// Of the host, for what a loop of Transformer Engine over parts of a product hands out (split_overlap_ag,
/// split_overlap_rs): a further part's product, and a message or a scatter beside it, which is two calls of the driver
/// (a send and a receive; a scatter and the event that it waits for).
double looped_product_seconds(double launch_seconds);
double looped_message_seconds(double launch_seconds);

}  // namespace orrery::sim
