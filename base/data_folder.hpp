// Where the shipped data lie.
#pragma once

#include <filesystem>

namespace orrery {

/// Folder of the shipped data (profiles/, validation/, models/): $ORRERY_DATA, else beside the executable or the
/// source. Throws Error when $ORRERY_DATA is no folder, or there is none.
std::filesystem::path data_folder();

}  // namespace orrery
