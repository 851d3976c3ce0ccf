// What plans are judged by.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "planning/search/site.hpp"

namespace orrery::planning {

enum class Objective : std::uint8_t { step, time, cost, energy };

/// Of a GPU-hour, by the name of the GPU; empty: all cost the same, and cost means GPU-hours.
using GpuPrices = std::map<std::string, double>;

/// What a second of a step counts.
struct Weight {
    double second = 0;      ///< whatever is held
    double gpu_second = 0;  ///< of each GPU that is held
    [[nodiscard]] double of(double held) const { return second + gpu_second * held; }
};

struct ObjectiveRow {
    Objective kind;
    std::string_view name;  ///< of the option --objective
    std::string_view what;  ///< that is least
    std::string_view unit;  ///< of what counts, times `scale`
    double scale;
    /// Throws Error where a price or a power is not known.
    Weight (*weight)(const Site& site, const GpuPrices& prices);
};

/// Of an hour of one of the site's GPUs, the mean; 1 where there are no prices. Throws Error for a GPU without one.
double hourly(const Site& site, const GpuPrices& prices);

namespace detail {
inline double tokens(const Site& site) { return site.scenario.plan.examples(); }
double watts(const Site& site);  ///< of a GPU, the mean
}  // namespace detail

inline constexpr std::array objectives{
    ObjectiveRow{Objective::step, "step", "seconds of a step", "s/step", 1,
                 [](const Site&, const GpuPrices&) { return Weight{.second = 1}; }},
    ObjectiveRow{Objective::time, "time", "seconds a token", "s/Mtoken", 1e6,
                 [](const Site& site, const GpuPrices&) { return Weight{.second = 1 / detail::tokens(site)}; }},
    // Idle GPUs and spare nodes are paid for as well, and draw power.
    ObjectiveRow{Objective::cost, "cost",
                 "cost of a token, idle GPUs and spare nodes counted (GPU-hours where none has a price)", "cost/Gtoken",
                 1e9,
                 [](const Site& site, const GpuPrices& prices) {
                     return Weight{.gpu_second = hourly(site, prices) / 3600 / detail::tokens(site)};
                 }},
    ObjectiveRow{Objective::energy, "energy", "energy of a token, all GPUs at their design power", "MWh/Gtoken",
                 1e9 / 3.6e9,
                 [](const Site& site, const GpuPrices&) {
                     return Weight{.gpu_second = detail::watts(site) / detail::tokens(site)};
                 }},
};
static_assert(
    [] {
        for (std::size_t i = 0; i < objectives.size(); ++i)
            if (objectives[i].kind != static_cast<Objective>(i)) return false;
        return true;
    }(),
    "an objective's row stands at its value");

}  // namespace orrery::planning
