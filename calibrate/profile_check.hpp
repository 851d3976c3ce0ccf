// What makes a profile trustworthy enough to predict from.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

inline constexpr int profile_version = 1;

/// A constant that a profile may hold, and between which values it is believed; profile.hpp says what each means.
struct KnownConstant {
    std::string_view name;
    double least, most;
    bool required = false;
};
/// From a core of the smallest processor, which others use as well, to ten times today's largest accelerators. Those
/// that begin at zero a device may have none of: a CPU runs its kernels at once.
inline constexpr std::array<KnownConstant, 31> known_constants{{
    {"peak_half_flops", 1e6, 1e17, true},
    {"peak_single_flops", 1e6, 1e17},
    {"peak_tf32_flops", 1e8, 1e17},
    {"peak_fp8_flops", 1e8, 1e17},
    {"peak_fp4_flops", 1e8, 1e17},
    {"memory_bytes_per_second", 1e7, 1e14, true},
    {"multiprocessors", 1, 1e5},
    {"cache_bytes", 1e3, 1e12},
    {"sustained_gemm", 0.01, 1, true},
    {"sustained_single", 0.01, 1},
    {"sustained_fp8", 0.01, 1},
    {"sustained_fp4", 0.01, 1},
    {"sustained_clock", 0.05, 1},
    {"short_repeats", 1, 1},
    {"unaligned_gemm", 0.01, 1},
    {"partly_aligned_gemm", 0.01, 1},
    {"state_space_products", 0.01, 100},
    {"state_space_convolution", 0.01, 1},
    {"sustained_memory", 0.1, 1},
    {"board_spread", 0, 0.5},
    {"tile_waves", 1, 1},
    {"attention_backward_rate", 0.05, 20},
    {"attention_dropout_forward", 0.01, 1},
    {"attention_dropout_backward", 0.01, 1},
    {"kernel_gap_seconds", 0, 0.01, true},
    {"graph_gap_seconds", 0, 0.01},
    {"launch_seconds", 0, 0.01, true},
    {"collective_launch_seconds", 0, 0.1, true},
    {"overlap_slowdown", 1, 100, true},
    {"network_efficiency", 0.001, 1},
    {"host_message_seconds", 1e-9, 10},
}};

/// A measured time may differ by this factor from the roofline-scaled times of its neighbours before it counts as a
/// damaged reading. The published tables stay within 20.
inline constexpr double outlier_factor = 100.0;

/// Throws Error (pointer with the row) for a wrong version, constants that are missing, unknown or beyond belief, times
/// that are not finite and positive, zero dimensions, points twice or out of order, and outliers.
void check_profile(const Profile& profile);

/// Removes the outliers that check_profile would refuse, and says which: a measurement of minutes is not lost to one
/// damaged reading.
std::vector<std::string> drop_outliers(Profile& profile);

}  // namespace orrery::calibrate
