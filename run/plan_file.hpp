// What `orrery run` hands to `orrery-device run`: a checked plan in a file of its own, because the device's program
// knows no scenarios and no clusters.
#pragma once

#include <string>

#include "run/place.hpp"

namespace orrery::run {

struct RunPlan {
    std::string name;  ///< of the scenario
    strategies::Plan plan;
    RunSettings settings;
};

/// JSON; the same plan gives the same bytes.
std::string to_json(const RunPlan& plan);
/// Of such a file what is the plan's: "model", "strategy" and "training".
std::string plan_text(const strategies::Plan& plan);

/// file: for messages. Throws Error for text that is no plan, of another version, or lacks a key.
RunPlan plan_from_json(const std::string& text, const std::string& file);

}  // namespace orrery::run
