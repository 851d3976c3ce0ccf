// Files of published measurements: {"source": ..., "meta": ..., "rows": [...]}. A file may state once, under
// "defaults", what holds for every row that does not say otherwise; the carried set does (carry.hpp).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "validate/row.hpp"

namespace orrery::validate {

struct RowFile {
    std::string source;  ///< the file's "source", else its stem
    std::string meta;    ///< JSON, as it stands; "" when absent
    std::vector<Row> rows;
};

/// Throws Error (file, pointer) when the file cannot be read, is not JSON, or is no object with a non-empty array
/// "rows" of objects, or has "defaults" that are no object. The fields of a row are not judged here.
RowFile load_rows(const std::filesystem::path& file);

/// The same from text; `file` is for messages.
RowFile parse_rows(const std::string& text, const std::filesystem::path& file);

/// Fields of rows, and of their models, that nothing reads, each once: "recomputation (recompute?)", with what is
/// nearest where it is near. What stands in `switches`, `measured` and `source` is as manifold as the sources.
std::vector<std::string> unread_fields(const RowFile& file);

}  // namespace orrery::validate
