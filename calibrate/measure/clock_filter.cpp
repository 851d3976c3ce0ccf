#include "calibrate/measure/clock_filter.hpp"

#include <algorithm>

namespace orrery::calibrate {

bool ClockFilter::accept(const kernels::ClockReading& before, const kernels::ClockReading& after) {
    highest_ = std::max({highest_, before.core_hertz, after.core_hertz});
    const auto held = [](const kernels::ClockReading& r) { return !r.throttled.empty() && !capped(r); };
    if (held(before) || held(after)) return false;
    if (capped(before) || capped(after)) return true;
    return after.core_hertz == 0 || after.core_hertz >= least_share * highest_;
}

bool ClockFilter::capped(const kernels::ClockReading& reading) {
    return !reading.throttled.empty() && std::ranges::all_of(reading.throttled, [](const std::string& reason) {
        return reason == kernels::power_cap;
    });
}

}  // namespace orrery::calibrate
