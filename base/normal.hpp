// The standard normal distribution: quantiles, and the largest of several independent values.
#pragma once

#include <cstdint>

namespace orrery {

/// x with a probability of `share` to lie below it. share: in (0, 1), exact to 1e-9.
double normal_quantile(double share);

/// Mean of the largest of n independent values, within 5% of the exact one for two and 1% for more; 0 for one value.
/// Blom (Statistical
/// Estimates and Transformed Beta-Variables, 1958): the quantile of (n - 3/8) / (n + 1/4).
double expected_maximum(std::uint64_t n);

}  // namespace orrery
