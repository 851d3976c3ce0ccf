// The real predictor behind validation.
#include <filesystem>

#include "sim/predict.hpp"
#include "validate/run.hpp"

namespace orrery::validate {

Predictor simulator() {
    Predictor predictor;
    predictor.step = [](const scenarios::Scenario& scenario) {
        return sim::predict(scenario, {.keep_trace = false, .scale_factor = false, .advice = false});
    };
    predictor.collective = &sim::collective_seconds;
    predictor.has_profile = [](const std::string& profile) {
        std::error_code ignored;
        return std::filesystem::is_regular_file(scenarios::data_folder() / "profiles" / (profile + ".json"), ignored);
    };
    return predictor;
}

}  // namespace orrery::validate
