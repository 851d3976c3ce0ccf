// Text within XML: SVG, above all.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

/// The text as an element may hold it, or an attribute in double quotes: markup as entities, control characters, which
/// no XML document may contain, as blanks.
std::string escaped_markup(std::string_view text);

}  // namespace orrery
