// The scenario that a published row becomes, for whoever wants to look into it or change it.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "scenarios/scenario.hpp"
#include "validate/map_row.hpp"

namespace orrery::validate {

/// Of the row with this id, of the first file that has one. Throws Error where no file has it (with ids that begin
/// alike), or where the row is none that a scenario predicts, with what validate_files() says of it.
scenarios::Scenario scenario_of_row(const std::vector<std::filesystem::path>& files, std::string_view id,
                                    const HasProfile& has_profile);

}  // namespace orrery::validate
