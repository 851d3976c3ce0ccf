// What a rank runs on, for what a report says of its kernels.
#pragma once

#include <cstdint>

#include "calibrate/predictor.hpp"
#include "hardware/gpu.hpp"

namespace orrery::report {

struct Device {
    const calibrate::Predictor& predictor;
    const hardware::Gpu& gpu;
    std::uint32_t gpus_per_node;  ///< of the cluster: tells which groups stay inside a node
};

}  // namespace orrery::report
