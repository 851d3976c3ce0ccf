// The validation set that the project carries: the published rows, without what prediction never reads.
#pragma once

#include <filesystem>
#include <string>

#include "validate/rows.hpp"

namespace orrery::validate {

/// The compact form of one file: every row with its id, kind, origin and all fields that mapping, measuring and
/// scoring read; remarks, logged breakdowns and spreads are dropped. The same format, one row a line, with what all
/// rows share under "defaults"; loading it gives the same predictions and the same reasons. Same input, same bytes.
std::string carried(const RowFile& file);

/// Writes carried() of every *.json of the folder `from` into the folder `to`, under the same name, and makes `to`
/// where it is missing. Throws Error for a folder without files, for files that are no rows or cannot be written, and,
/// before anything is written, where `to` has a file of such a name that carry() did not write.
void carry(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace orrery::validate
