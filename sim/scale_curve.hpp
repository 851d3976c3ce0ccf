// How a plan scales with its data-parallel replicas.
#pragma once

#include <cstdint>
#include <vector>

#include "calibrate/profile_store.hpp"
#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::sim {

/// A plan on another number of GPUs.
struct ScalePoint {
    std::uint32_t gpus = 0;
    double step_time_s = 0;
    double scale_factor = 0;  ///< T_n / (n T_1), as Prediction::scale_factor
};

/// Weak scaling: the scenario's plan from the fewest replicas that hold the model (scale_base_gpus), doubled up to its
/// own number, with as many samples per replica; placed linearly on the scenario's cluster but for the plan itself,
/// which is `prediction`. By GPUs. Each other point costs a simulation, and
/// so does each way of a replica through kinds of GPU (ReplicasAlone).
std::vector<ScalePoint> scale_curve(const scenarios::Scenario& scenario, const Prediction& prediction,
                                    calibrate::ProfileStore& profiles);

}  // namespace orrery::sim
