// Where the shipped data lie.
#pragma once

#include <filesystem>

namespace orrery {

/// Folder of the shipped data (scenarios, profiles/, validation/, models/): $ORRERY_DATA, else share/orrery/scenarios
/// beside the folder of the program (as installed) or in it (as built). Throws Error when $ORRERY_DATA is another
/// folder, or there is none.
std::filesystem::path data_folder();

}  // namespace orrery
