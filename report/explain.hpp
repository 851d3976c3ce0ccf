// What one rank does in a step and where every number comes from.
#pragma once

#include <cstdint>
#include <string>

#include "calibrate/profile.hpp"
#include "report/device.hpp"
#include "report/records.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// The step program of the rank's role as text; its distinct kernels with count, time, share of the step, the profile
/// rows or formula behind the time, and what the step makes of it; its transfers likewise, with nccl-tests' columns;
/// the profile's constants with their origins. Needs Prediction::program. Throws Error when there is no such rank.
std::string explain(const scenarios::Scenario& scenario, const sim::Prediction& prediction, const Device& device,
                    std::uint32_t rank);

/// The kernels and transfers of one rank as a table, the most expensive first: part (kernel, transfer), what, count,
/// seconds of one, share of the step (transfers may run beside kernels), flops, bytes, what the time rests on, and the
/// profile's rows or formula behind it. As explain() otherwise.
Records explained(const scenarios::Scenario& scenario, const sim::Prediction& prediction, const Device& device,
                  std::uint32_t rank);

/// Name, value, unit and origin of every constant of a profile, one a line.
std::string constants_table(const calibrate::Profile& profile);

}  // namespace orrery::report
