// What makes a profile trustworthy enough to predict from.
#pragma once

#include <array>
#include <string_view>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

inline constexpr int profile_version = 1;

/// Constants that every profile must hold; profile.hpp says what each means.
inline constexpr std::array<std::string_view, 8> required_constants{
    "peak_half_flops",  "memory_bytes_per_second",   "sustained_gemm",   "kernel_gap_seconds",
    "dispatch_seconds", "collective_launch_seconds", "overlap_slowdown", "network_efficiency"};

/// Constants that a device may have none of: a CPU runs its kernels at once.
inline constexpr std::array<std::string_view, 3> overheads{"kernel_gap_seconds", "dispatch_seconds",
                                                           "collective_launch_seconds"};

/// A measured time may differ by this factor from the roofline-scaled times of its neighbours before it counts as a
/// damaged reading. The published tables stay within 20.
inline constexpr double outlier_factor = 100.0;

/// Throws Error (pointer with the row) for a wrong version, missing or non-positive constants, times that are not
/// finite and positive, zero dimensions, points twice or out of order, and outliers.
void check_profile(const Profile& profile);

}  // namespace orrery::calibrate
