// Quantiles of a few numbers, in memory.
#pragma once

#include <vector>

namespace orrery {

/// The value that a share (0 to 1) of the sorted ones lies below, linear between neighbouring order statistics
/// (Hyndman and Fan 1996, definition 7). 0 of none.
double quantile(const std::vector<double>& sorted, double share);

/// The middle value, or the mean of the two middle ones. 0 of none.
double median(std::vector<double> values);

/// Half the distance between the quartiles. 0 of none.
double half_quartile_range(std::vector<double> values);

}  // namespace orrery
