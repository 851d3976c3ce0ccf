// Rows that are not what they seem, by the words of their own source, never by our error: no score counts them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "validate/row.hpp"

namespace orrery::validate {

struct Doubt {
    std::string_view reason;  ///< why its rows are skipped
    std::string_view source;  ///< of the rows
    std::string_view ids;     ///< what their ids begin with
    std::string_view part;    ///< and contain
    std::string_view words;   ///< of the source itself, and where it says so
};
std::span<const Doubt> doubts();

/// Null for a row that nothing is said against.
const Doubt* doubt_about(const Row& row);

}  // namespace orrery::validate
