// Today's date, for what is written down with one.
#pragma once

#include <string>

namespace orrery {

/// In UTC, as ISO 8601 writes it: 2026-07-31.
std::string today();

}  // namespace orrery
