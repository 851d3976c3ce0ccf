// What plans are judged by.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "planning/search/site.hpp"

namespace orrery::planning {

enum class Objective : std::uint8_t { step, time, cost };

struct ObjectiveRow {
    Objective kind;
    std::string_view name;  ///< of the option --objective
    std::string_view what;  ///< that is least
    /// What a second of a step on that site counts.
    double (*weight)(const Site& site);
};

namespace detail {
inline double tokens(const Site& site) {
    const strategies::Training& training = site.scenario.plan.training;
    return static_cast<double>(training.global_batch) * training.seq;
}
}  // namespace detail

inline constexpr std::array objectives{
    ObjectiveRow{Objective::step, "step", "seconds of a step", [](const Site&) { return 1.0; }},
    ObjectiveRow{Objective::time, "time", "seconds a token", [](const Site& site) { return 1 / detail::tokens(site); }},
    // Idle GPUs are paid for as well.
    ObjectiveRow{Objective::cost, "cost", "GPU-seconds a token, idle GPUs counted",
                 [](const Site& site) { return site.gpus / detail::tokens(site); }},
};
static_assert(
    [] {
        for (std::size_t i = 0; i < objectives.size(); ++i)
            if (objectives[i].kind != static_cast<Objective>(i)) return false;
        return true;
    }(),
    "an objective's row stands at its value");

}  // namespace orrery::planning
