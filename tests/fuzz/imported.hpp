// What holds of every file that an importer reads.
#pragma once

#include <string>
#include <string_view>

namespace orrery::fuzz {

/// Imports the input; whether a scenario came of it. What is refused says how to mend it, and what is not refused is a
/// scenario that is accepted. Throws Broken.
bool becomes_scenario(std::string_view importer, const std::string& input);

}  // namespace orrery::fuzz
