// What a prediction rests on, and what its reader should be warned of.
#pragma once

#include "sim/prediction.hpp"
#include "sim/run_step.hpp"

namespace orrery::sim {

/// Seconds of kernels that were derived and not measured, by what they were derived from (calibrate::Estimate),
/// over the step's, mean over the stages' slowest ranks; the largest first.
std::vector<Derived> derived_shares(const RanStep& ran, double step_time_s);

/// Fills p.derived and adds warnings: time that is derived, shapes beyond the measured range, a profile of another
/// device than the GPU that it times, tables faster than the datasheet, and more FLOP/s than the hardware has.
void doubt(const RanStep& ran, const strategies::RankPlacement& placement, Prediction& p);

}  // namespace orrery::sim
