// The kernels of one rank's step for the page, and the roof that they stand under.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "calibrate/predictor.hpp"
#include "report/device.hpp"
#include "sim/prediction.hpp"
#include "strategies/plan.hpp"

namespace orrery::report {

/// [{text, count, seconds, flops, bytes, share, extrapolated, derived, source}], the largest share of the step first.
/// seconds: of one launch as the step runs it (sim/kernel_price.hpp); share: of all of them in the step. Needs
/// Prediction::program.
nlohmann::ordered_json kernel_list(const strategies::Plan& plan, const sim::Prediction& prediction,
                                   const Device& device, std::uint32_t rank);

/// {gpu, format, flops_per_second, bytes_per_second}: the profile's peaks, in the format of most of the arithmetic.
nlohmann::ordered_json roof(const sim::Prediction& prediction, const calibrate::Predictor& predictor,
                            std::uint32_t rank);

}  // namespace orrery::report
