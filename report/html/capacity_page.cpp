#include "report/html/capacity_page.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "report/html/page.hpp"

namespace orrery::report {

std::string capacity_page(const nlohmann::ordered_json& answer, const std::string& command) {
    nlohmann::ordered_json data{{"view", "capacity"},
                                {"title", answer.at("question").at("name")},
                                {"subtitle", "which cluster, how long, for how much"},
                                {"command", command}};
    for (const char* key : {"question", "chosen", "candidates"}) data[key] = answer.at(key);
    return page(data);
}

}  // namespace orrery::report
