// What a rank runs on, for what a report says of its kernels.
#pragma once

#include "calibrate/predictor.hpp"
#include "hardware/gpu.hpp"
#include "topology/node.hpp"

namespace orrery::report {

struct Device {
    const calibrate::Predictor& predictor;
    const hardware::Gpu& gpu;
    const topology::NodePlan& node;  ///< of the rank: tells which groups stay inside one, and how they are joined
};

}  // namespace orrery::report
