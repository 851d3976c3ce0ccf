// One measured point, as the log keeps it.
#pragma once

#include <cstdint>
#include <string>

#include "calibrate/measure/subject.hpp"

namespace orrery::calibrate {

struct Record {
    std::string suite;  ///< "points" for those of an explicit list
    Subject subject;
    double seconds = 0;     ///< one run: the middle of hot and cold on a CPU, cold on a GPU; overlap: the kernel alone
    double half_width = 0;  ///< relative: half of the way from hot to cold, at least the standard error
    double noise = 0;       ///< relative spread of one sample
    std::uint32_t samples = 0, throttled = 0, disturbed = 0;  ///< kept; dropped at a low clock; dropped as interrupted
    std::uint32_t capped = 0;  ///< of the samples: at a clock that the power limit held down
    bool settled = true;
    double core_hertz = 0;                            ///< the clock under the work, else the highest seen; 0: not told
    double kernel_slowdown = 0, beside_slowdown = 0;  ///< overlaps only
    std::string failure;                              ///< why there is no time; "" when there is one
};

}  // namespace orrery::calibrate
