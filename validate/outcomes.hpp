// What is predicted of the scenarios that rows become, each once.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::validate {

/// What the tables need of a prediction.
struct Outcome {
    std::size_t number = 0;  ///< of the scenario, from 1, in the order of those who asked
    double seconds = 0;
    sim::Interval interval;
    sim::MemoryUse memory;
    std::string refused;  ///< why there is no prediction
    std::once_flag once;
};

/// Why the simulator refused, without the scenario's numbers: its key, or that it failed.
std::string refusal(const std::exception& failure);

class Outcomes {
public:
    /// step: sim::predict() or a stand-in; called from as many threads as of().
    explicit Outcomes(const std::function<sim::Prediction(const scenarios::Scenario&)>& step) : step_(step) {}

    /// From any thread; equal scenarios wait for the one that is being predicted. Lives as long as this.
    const Outcome& of(const scenarios::Scenario& scenario);

private:
    const std::function<sim::Prediction(const scenarios::Scenario&)>& step_;
    std::mutex mutex_;
    std::map<std::string, Outcome> outcomes_;  ///< by scenario_key()
};

}  // namespace orrery::validate
