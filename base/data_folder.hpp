// Where the shipped data lie.
#pragma once

#include <filesystem>

namespace orrery {

/// Folder of the shipped data (scenarios, profiles/, validation/, models/): $ORRERY_DATA, else share/orrery/scenarios
/// beside the folder of the program (as installed) or in it (as built). Within a library, as in Python's module:
/// share/orrery/scenarios of the prefix that the library is below (LIB/orrery/ of lib/python3/dist-packages), or of the
/// build. Throws Error when $ORRERY_DATA is another folder, or there is none.
std::filesystem::path data_folder();

}  // namespace orrery
