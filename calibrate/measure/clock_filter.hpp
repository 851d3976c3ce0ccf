// Drops samples that were taken while the device was held back.
#pragma once

#include <cstdint>

#include "kernels/device.hpp"

namespace orrery::calibrate {

/// A sample counts when the device gives no reason for throttling before or after it, and its core clock after it is
/// not far below the highest seen: the tables are of one clock. A device that does not tell its clock passes. So does
/// one at its power limit: large products draw more power than any GPU may, and train at the clock that this leaves.
class ClockFilter {
public:
    /// Share of the highest clock seen below which a sample is dropped.
    static constexpr double least_share = 0.9;

    [[nodiscard]] bool accept(const kernels::ClockReading& before, const kernels::ClockReading& after);
    /// Whether only the power limit holds the clock down.
    [[nodiscard]] static bool capped(const kernels::ClockReading& reading);
    [[nodiscard]] double highest_hertz() const { return highest_; }

private:
    double highest_ = 0;
};

}  // namespace orrery::calibrate
