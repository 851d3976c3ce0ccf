// The whole of a file.
#pragma once

#include <filesystem>
#include <string>

namespace orrery {

/// The bytes of a file. Throws Error with the file, "cannot be read" and the hint when there is none or it is a folder.
std::string read_file(const std::filesystem::path& file, const std::string& hint = "");

}  // namespace orrery
