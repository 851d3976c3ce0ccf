// What a user wishes of a search, made a question.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planning/search/search.hpp"
#include "scenarios/request.hpp"

namespace orrery::planning {

/// As words; each is checked when they become a question.
struct SearchWishes {
    std::optional<std::string> gpus;      ///< sizes of the cluster: "512,1024" or "512..2048"
    std::optional<std::string> gpu;       ///< kinds of GPU: "A100,H100"
    std::string objective = "step";       ///< a name of `objectives`
    std::vector<std::string> fix = {};    ///< keys held to a value: "strategy.tensor=8"
    std::vector<std::string> vary = {};   ///< keys held to some values: "strategy.tensor=4,8"
    std::vector<std::string> price = {};  ///< of a GPU-hour: "H100=2.5"
    std::size_t top = 10;
    double idle = 0.125;  ///< share of the GPUs that a plan may leave idle
};

/// Keys of a plan hold its axes; any other that is varied makes clusters or trainings, searched beside each other.
/// Throws Error.
SearchQuestion question_of(const scenarios::Request& request, const SearchWishes& wishes);

/// What comes of the scenario's own plan on the first site, or why it cannot be.
Answer own_plan(const SearchQuestion& question, calibrate::ProfileStore& profiles);

}  // namespace orrery::planning
