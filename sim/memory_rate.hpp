// At which rate kernels stream memory: that of a profile's device, and of a board beside it.
#pragma once

#include "calibrate/predictor.hpp"
#include "hardware/gpu.hpp"

namespace orrery::sim {

/// Bytes per second that a long stream reaches on the device that the profile measured.
inline double stream_rate(const calibrate::Predictor& predictor) {
    return predictor.constant("memory_bytes_per_second") * predictor.constant_or("sustained_memory", 1);
}

/// How many times as long as there a stream takes on this board; without a datasheet's rate it is the same device.
inline double memory_share(const hardware::Gpu& gpu, const calibrate::Predictor& predictor) {
    const double rate = gpu.memory_bytes_per_second;
    return rate > 0 ? predictor.constant("memory_bytes_per_second") / rate : 1.0;
}

}  // namespace orrery::sim
