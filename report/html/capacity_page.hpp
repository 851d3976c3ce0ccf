// The HTML report of a capacity question: which cluster, how long, for how much.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery::report {

/// answer: what capacity_json() says. command: that makes the page. Throws Error where the program was built without
/// it.
std::string capacity_page(const nlohmann::ordered_json& answer, const std::string& command);

}  // namespace orrery::report
