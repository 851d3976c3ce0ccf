// Comparison with a text file that was reviewed once.
#pragma once

#include <string>
#include <string_view>

namespace orrery::report {

/// Expects tests/report/golden/NAME to hold exactly this text. UPDATE_GOLDEN=1 writes the file instead.
void expect_golden(std::string_view name, const std::string& text);

}  // namespace orrery::report
