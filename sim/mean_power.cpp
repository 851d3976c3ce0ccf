#include "sim/mean_power.hpp"

#include <algorithm>

namespace orrery::sim {

hardware::Power mean_power(const Step& step) {
    hardware::Power mean;
    for (const GpuUse& use : step.gpu_kinds) {
        const hardware::Power watts = hardware::power_of(use.gpu, use.power_limit_watts);
        mean.gpu += watts.gpu * use.gpus / step.gpus;
        mean.node += std::max(watts.gpu, watts.node) * use.gpus / step.gpus;
    }
    return mean;
}

}  // namespace orrery::sim
