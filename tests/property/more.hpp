// More work: pairs of scenarios of which the second has more to do, and what must hold of their times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "scenarios/scenario.hpp"

namespace orrery::laws {

using Change = void (*)(nlohmann::json&);

struct Growth {
    std::string_view name;
    Change first;  ///< what both have in common, beyond a random scenario
    Change more;   ///< what the second has more
};
/// sim/README.md says what may take less and why ("More that takes less").
std::span<const Growth> growths();

// Changes that tests combine.
void unchanged(nlohmann::json& scenario);
void without_offloading(nlohmann::json& scenario);
void without_recomputation(nlohmann::json& scenario);
void with_large_kernels(nlohmann::json& scenario);
void offload_half(nlohmann::json& scenario);
void offload_all(nlohmann::json& scenario);

/// Of a step whose transfers do not hinder each other, with the scenario's perturbations: the longest path, which
/// sharing can only lengthen, and which more work never shortens.
double uncontended_seconds(const scenarios::Scenario& scenario);

}  // namespace orrery::laws
