// The whole of a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace orrery {

/// What is read of a file of which nothing is said: more than any profile, scenario or table of measurements has.
inline constexpr std::uint64_t most_file_bytes = std::uint64_t{256} << 20U;

/// The bytes of a file, a pipe or the like. Throws Error with the file, "cannot be read" and the hint when there is
/// none, for a folder or a device, and when it has more than `most` bytes: of a pipe without an end no more than those
/// are ever in memory.
std::string read_file(const std::filesystem::path& file, const std::string& hint = "",
                      std::uint64_t most = most_file_bytes);

/// The same of standard input, which errors call "standard input".
std::string read_standard_input(const std::string& hint = "", std::uint64_t most = most_file_bytes);

}  // namespace orrery
