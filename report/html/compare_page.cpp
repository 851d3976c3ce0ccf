#include "report/html/compare_page.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/html/page.hpp"
#include "report/html/paired_timeline.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

/// A text of a report; "" where it has none, for the page needs none.
std::string text_at(const nlohmann::json& document, const char* pointer) {
    const nlohmann::json::json_pointer at(pointer);
    const bool has = document.contains(at) && document.at(at).is_string();
    return has ? document.at(at).get<std::string>() : "";
}

Json words_of(const Side& side) {
    return {{"file", side.file},
            {"name", text_at(side.document, "/scenario/name")},
            {"cluster", text_at(side.document, "/provenance/cluster")},
            {"profile", text_at(side.document, "/provenance/profile")}};
}

}  // namespace

std::string compare_page(const Comparison& comparison, const Side& predicted, const Side& measured, double tolerance,
                         const std::string& command) {
    const std::string name = text_at(predicted.document, "/scenario/name");
    return page(Json{{"view", "compare"},
                     {"title", name.empty() ? "Predicted and measured" : name},
                     {"subtitle", fmt::format("{} held against {}", predicted.file, measured.file)},
                     {"command", command},
                     {"tolerance", tolerance},
                     {"comparison", to_json(comparison)},
                     {"predicted", words_of(predicted)},
                     {"measured", words_of(measured)},
                     {"timeline", comparison.joined > 0 ? paired_timeline(predicted, measured) : Json()}});
}

}  // namespace orrery::report
