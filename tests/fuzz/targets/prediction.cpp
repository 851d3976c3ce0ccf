// A scenario, predicted: it is refused with a place, or keeps the laws of every prediction.
#include <nlohmann/json.hpp>

#include "documents/document.hpp"
#include "report/json.hpp"
#include "sim/predict.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/property/laws.hpp"

namespace orrery::fuzz {

namespace {

/// So that a prediction takes milliseconds.
bool is_small(const scenarios::Scenario& scenario) {
    const strategies::Plan& plan = scenario.plan;
    return scenario.gpus <= 64 && plan.model.layers <= 16 && plan.micro_batches() <= 32 &&
           plan.micro_batches() * plan.model.layers <= 256 && scenario.perturbations.background.size() <= 16;
}

}  // namespace

bool prediction(const std::string& input) {
    scenarios::Scenario scenario;
    try {
        scenario = scenarios::from_json(documents::parse_document(input, "input.json"), "scenarios/input.json");
    } catch (const Error&) {
        return false;  // of the target `scenario`
    }
    if (!is_small(scenario)) return false;
    static calibrate::ProfileStore profiles;
    try {
        const sim::Prediction predicted = sim::predict(scenario, profiles, {.scale_factor = false, .advice = false});
        laws::require_sane(predicted);
        require(!report::json(scenario, predicted).empty(), "a prediction can be written");
        return true;
    } catch (const Error& error) {
        require(!error.pointer().empty(), std::string("what cannot be predicted says which key: ") + error.what());
        require(!error.hint().empty(), std::string("an error says how to mend it: ") + error.what());
        return false;
    }
}

}  // namespace orrery::fuzz
