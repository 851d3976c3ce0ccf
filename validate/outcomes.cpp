#include "validate/outcomes.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "validate/scenario_key.hpp"

namespace orrery::validate {

std::string refusal(const std::exception& failure) {
    const auto* error = dynamic_cast<const Error*>(&failure);
    if (error == nullptr) return "prediction failed";
    return error->pointer().empty() ? "refused by the simulator" : fmt::format("refused at {}", error->pointer());
}

const Outcome& Outcomes::of(const scenarios::Scenario& scenario) {
    const std::string key = scenario_key(scenario);
    Outcome* outcome = nullptr;
    {
        const std::lock_guard lock(mutex_);
        const auto [entry, fresh] = outcomes_.try_emplace(key);
        outcome = &entry->second;
        if (fresh) outcome->number = outcomes_.size();
    }
    std::call_once(outcome->once, [&] {
        try {
            sim::Prediction prediction = step_(scenario);
            outcome->seconds = prediction.step_time_s;
            outcome->interval = prediction.step_interval;
            outcome->memory = static_cast<sim::MemoryUse&&>(prediction);
        } catch (const std::exception& failure) {
            outcome->refused = refusal(failure);
        }
    });
    return *outcome;
}

}  // namespace orrery::validate
