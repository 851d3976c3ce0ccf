// Whether a profile can be that of the GPU that it times.
#pragma once

#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "hardware/gpu.hpp"

namespace orrery::calibrate {

/// Warnings, each with its remedy: the profile is of another kind of GPU; a table of products is faster than the
/// datasheet's peak, or one of memory-bound kernels than the memory. Nothing about cores of hosts, whose datasheet is
/// that of one processor of many.
std::vector<std::string> implausible(const Predictor& predictor, const hardware::Gpu& gpu);

}  // namespace orrery::calibrate
