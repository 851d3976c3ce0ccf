// Two reports held against each other: {"predicted": ..., "measured": ...}.
#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "report/compare.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

bool comparison(const std::string& input) {
    nlohmann::json both;
    try {
        both = documents::parse_document(input, "both.json");
    } catch (const Error&) {
        return false;  // of the target `document`
    }
    if (!both.is_object() || !both.contains("predicted") || !both.contains("measured")) return false;
    try {
        const report::Comparison result =
            report::compare(both["predicted"], "predicted.json", both["measured"], "measured.json");
        require(result.step.predicted > 0 && result.step.measured > 0, "steps that are compared take time");
        require(!report::to_text(result, {}).empty(), "a comparison can be printed");
        require(report::to_json(result).dump().find("null") == std::string::npos, "its numbers are finite");
        return true;
    } catch (const Error& error) {
        const bool of_predicted = error.file() == "predicted.json";
        require_helpful(error, of_predicted ? "predicted.json" : "measured.json");
        return false;
    }
}

}  // namespace orrery::fuzz
