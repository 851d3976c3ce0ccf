// More work: pairs of scenarios of which the second has more to do, and what must hold of their times.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "calibrate/predictor.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::laws {

using Change = void (*)(nlohmann::json&);

struct Growth {
    std::string_view name;
    Change first;  ///< what both have in common, beyond a random scenario
    Change more;   ///< what the second has more
    /// Its products are larger, and measured tables know larger ones that take less (tests/calibrate/larger_test.cpp
    /// holds predictions against that): both are timed by smooth_products().
    bool larger_products = false;
};
/// sim/README.md says what may take less and why ("More that takes less").
std::span<const Growth> growths();

// Changes that tests combine.
void unchanged(nlohmann::json& scenario);
void with_equal_replicas(nlohmann::json& scenario);  ///< a list of micro-batches fits one batch
void with_equal_stages(nlohmann::json& scenario);    ///< a list of layers fits one number of layers
/// Nor unequal stages, as offloading counts layers of every stage, nor backwards in two parts.
void without_offloading(nlohmann::json& scenario);
void without_recomputation(nlohmann::json& scenario);
void with_large_kernels(nlohmann::json& scenario);
void offload_half(nlohmann::json& scenario);
void offload_all(nlohmann::json& scenario);

/// The profile of a scenario, or with larger_products the same with products at their roofline: one never takes less
/// than another that fits into it. Threads may ask at once; the reference stays.
const calibrate::Predictor& predictor_of(const Growth& growth, const scenarios::Scenario& scenario);

/// Of a step with the scenario's perturbations.
double step_seconds(const scenarios::Scenario& scenario, const calibrate::Predictor& predictor);
/// Of a step whose transfers do not hinder each other, with the scenario's perturbations: the longest path, which
/// sharing can only lengthen, and which more work never shortens.
double uncontended_seconds(const scenarios::Scenario& scenario, const calibrate::Predictor& predictor);
/// The same by the scenario's own profile.
double uncontended_seconds(const scenarios::Scenario& scenario);

}  // namespace orrery::laws
