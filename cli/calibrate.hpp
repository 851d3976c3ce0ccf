// The parts of `orrery calibrate` that need no device.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "calibrate/profile.hpp"

namespace orrery::cli {

void add_calibrate_show(CLI::App& calibrate);
void add_calibrate_compare(CLI::App& calibrate);
void add_calibrate_import(CLI::App& calibrate);
void add_calibrate_assemble(CLI::App& calibrate);

/// One row a table of the profile: what it holds, how far it reaches, who measured it.
std::string coverage_table(const calibrate::Profile& profile);
/// The predictor's errors on points kept aside.
std::string held_out_table(const calibrate::Profile& profile);
/// Peaks and the best measured rates beside them.
std::string roofline_table(const calibrate::Profile& profile);
/// All of it for programs: tables, constants, held-out errors.
std::string profile_json(const calibrate::Profile& profile);
/// Noise of the readings, clocks, load; "" for a profile from published tables.
std::string conditions_text(const calibrate::Profile& profile);

}  // namespace orrery::cli
