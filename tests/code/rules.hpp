// The rules that the project's sources keep. Each returns what breaks it, as "path:line: what and why".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/code/scanner.hpp"

namespace orrery::code {

inline constexpr std::size_t most_file_lines = 450;
inline constexpr std::size_t most_function_lines = 70;
inline constexpr std::size_t most_columns = 120;

using Findings = std::vector<std::string>;

/// A folder's code includes only folders that stand before it.
Findings folder_order(const SourceFile& file);
/// A library is included only behind its door, the folders that wrap it.
Findings library_doors(const SourceFile& file);
/// Lengths of files, functions and lines; no tabs.
Findings sizes(const SourceFile& file);
/// A header begins with a comment that says what it is for, and has #pragma once.
Findings headers(const SourceFile& file);
/// No markers of unfinished work and no paths of one person's machine.
Findings leftovers(const SourceFile& file);
/// Every folder at the top has a README.md.
Findings folder_readmes(const std::vector<SourceFile>& files);

/// The README of a folder of code names each header that stands in the folder itself.
Findings readmes_name_headers(const std::vector<SourceFile>& files);

bool is_cpp(std::string_view path);

}  // namespace orrery::code
