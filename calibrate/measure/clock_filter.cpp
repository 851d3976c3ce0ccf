#include "calibrate/measure/clock_filter.hpp"

#include <algorithm>

namespace orrery::calibrate {

bool ClockFilter::accept(const kernels::ClockReading& before, const kernels::ClockReading& after) {
    highest_ = std::max({highest_, before.core_hertz, after.core_hertz});
    if (!before.throttled.empty() || !after.throttled.empty()) return false;
    return after.core_hertz == 0 || after.core_hertz >= least_share * highest_;
}

}  // namespace orrery::calibrate
