// Profiles of AMD's Instinct accelerators, from what others measured on them: the tables of instinct/, whose README
// says where each row is from. None was measured here.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// "mi250x", "mi300x", "mi325x", "mi355x": default profiles of AMD's boards of hardware::gpus(), oldest first.
std::span<const std::string_view> instincts();

/// Reads `measurements`/instinct/: products, attention, collectives and memory-bound kernels; a kind of memory-bound
/// kernel that was read on none of AMD's is the shipped profile h100's, by the datasheets' bandwidths. Throws Error for
/// an unknown name and for a table that is missing or malformed.
Profile instinct_profile(std::string_view name, const std::filesystem::path& measurements);

}  // namespace orrery::calibrate
