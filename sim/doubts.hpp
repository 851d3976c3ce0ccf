// What a prediction rests on, and what its reader should be warned of.
#pragma once

#include <string>
#include <vector>

#include "sim/prediction.hpp"
#include "sim/run_step.hpp"

namespace orrery::sim {

/// Seconds of kernels that were derived and not measured, by what they were derived from (calibrate::Estimate),
/// over the step's, mean over the stages' slowest ranks; the largest first.
std::vector<Derived> derived_shares(const RanStep& ran, double step_time_s);

/// Warnings of what was priced: time that is derived (derived_shares), shapes beyond the measured range, a profile of
/// another device than the GPU that it times, tables faster than the datasheet.
std::vector<std::string> doubts(const RanStep& ran, const strategies::RankPlacement& placement,
                                const std::vector<Derived>& derived);

/// A warning where there are more FLOP/s than the hardware has. profile: that timed them.
std::vector<std::string> doubts(const Rates& rates, const std::string& profile);

}  // namespace orrery::sim
