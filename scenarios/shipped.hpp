// The scenarios that come with the program, which a command line may name without their folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery::scenarios {

/// Files in the data folder, in order of their names. Throws Error when there is no data folder.
std::vector<std::filesystem::path> shipped_files();

/// The file that a command line means: a file of that name; else, of a bare name with or without ".json", the shipped
/// scenario. Throws Error for a bare name without ".json" that is neither; any other comes back as it is.
std::string file_of(const std::string& named);

}  // namespace orrery::scenarios
