#include "report/html/collective_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "report/html/page.hpp"

namespace orrery::report {

std::string collective_page(const nlohmann::json& table, const std::string& command) {
    const auto count = [&](const char* key) { return format_grouped(table.at(key).get<std::uint64_t>()); };
    return page(
        {{"view", "collective"},
         {"title", fmt::format("{} on {} GPUs", table.at("collective").get<std::string>(), count("gpus"))},
         {"subtitle", fmt::format("{} node{} of {}, profile {}", count("nodes"), table.at("nodes") == 1 ? "" : "s",
                                  table.at("cluster").get<std::string>(), table.at("profile").get<std::string>())},
         {"command", command},
         {"table", table}});
}

}  // namespace orrery::report
