#include "tests/fuzz/resolved_again.hpp"

#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "report/json.hpp"
#include "tests/fuzz/target.hpp"
#include "validate/scenario_key.hpp"

namespace orrery::fuzz {

void require_resolves(const scenarios::Scenario& scenario) {
    const std::string text = report::resolved(scenario).dump();
    try {
        const auto again = scenarios::from_json(documents::parse_document(text, "resolved.json"), "resolved.json");
        require_same(report::resolved(again).dump(), text, "a scenario written out in full is itself when read again");
        require_same(validate::scenario_key(again), validate::scenario_key(scenario),
                     "a scenario written out in full predicts the same");
    } catch (const Error& error) {
        throw Broken("broken: an accepted scenario is refused when it is written out: " + std::string(error.what()) +
                     "\n" + text);
    }
}

}  // namespace orrery::fuzz
