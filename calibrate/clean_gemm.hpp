// Disturbed readings in published GEMM tables.
#pragma once

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// Scatter of twin readings: m and m + 1 with the same n and k, all at least 512, which run the same tiles on any
/// library. The median distance of ln(time(m + 1) / time(m)) from its own median, so that a penalty
/// common to all odd m is no scatter. 0 when there are no twins.
double twin_difference(const GemmTable& table);

/// Twins of an undisturbed table scatter by 3 to 5% (A100, H100, GB300); above this they are disturbed.
inline constexpr double disturbed_twins = 0.055;

/// In a table whose twins scatter by more than disturbed_twins, replaces each time that lies 12% above the median time
/// per row of its five neighbours along m (itself included) by that median, and says so in the provenance.
/// Checked against tables it never saw: H200's mean difference from an independent H100 table (same chip) falls from
/// 9.3% to 7.1%, B200's from GB200's from 8.7% to 7.2%. Returns the number of replaced readings.
std::size_t replace_disturbed(GemmTable& table);

/// Lowers each time above that of a product which contains this one (none of m, n and k smaller) to it: padded, it
/// takes no longer. For tables whose products were not all chosen from the same kernels, or on the same day. Says so in
/// the provenance; returns the number of lowered readings.
std::size_t lower_to_larger(GemmTable& table);

}  // namespace orrery::calibrate
