// Rows of the carried set from which a constant of the model was taken: no score counts them.
#pragma once

#include <span>
#include <string_view>

namespace orrery::validate {

struct GaveConstant {
    std::string_view row;       ///< id
    std::string_view constant;  ///< and the file that documents it
};
std::span<const GaveConstant> rows_that_gave_constants();

/// Sources from which a constant was taken, or whose rows were looked at when one was chosen; scores without them stand
/// beside those of all.
bool looked_at(std::string_view source);
/// The same of rows of memory: what stands in a GPU's memory was looked for where predictions differed from them.
bool memory_looked_at(std::string_view source);

/// Null for a row that gave none.
const GaveConstant* gave_constant(std::string_view row);

}  // namespace orrery::validate
