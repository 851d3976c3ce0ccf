// The HTML report of one collective alone on a cluster.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery::report {

/// table: what `orrery collective --json` says, with at least one row. command: that makes the page. Throws Error
/// where the program was built without it.
std::string collective_page(const nlohmann::json& table, const std::string& command);

}  // namespace orrery::report
