// The scenarios that come with the program, which a command line may name without their folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery::scenarios {

/// Files in the data folder, in order of their names, those of lectures/ last. Throws Error when there is no data
/// folder.
std::vector<std::filesystem::path> shipped_files();

/// By which a command line may name it: "gpt-tiny-cpu", "lectures/zero-7.5b".
std::string shipped_name(const std::filesystem::path& file);

/// The file that a command line means: a file of that name; else, of a shipped scenario's name with or without ".json",
/// that. Throws Error for a name without ".json" that is neither, where it is bare or begins with "lectures/"; any
/// other comes back as it is.
std::string file_of(const std::string& named);

}  // namespace orrery::scenarios
