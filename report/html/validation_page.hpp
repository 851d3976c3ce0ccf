// The HTML report of predictions held against published measurements.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery::report {

/// scores: what validate::to_json() says. command: that makes the page. Throws Error where the program was built
/// without it.
std::string validation_page(const nlohmann::ordered_json& scores, const std::string& command);

}  // namespace orrery::report
