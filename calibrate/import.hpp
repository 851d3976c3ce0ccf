// Profiles from tables that others published: `orrery profile import`.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// Makes the profile of one GPU (a name of importable()) from a folder of published tables (gemm/, attention/,
/// collectives/, memory_bound/, v100/, p100/, infersim/), with held-out errors; of a TPU (chips.hpp) without any. Which
/// table is taken where several exist, and what is derived, is written in calibrate/README.md and in each table's
/// provenance. Throws Error for an unknown name and for a table that is missing or malformed.
Profile import_tables(std::string_view name, const std::filesystem::path& measurements);

/// The names import_tables knows, oldest GPU first.
std::vector<std::string_view> importable();

}  // namespace orrery::calibrate
