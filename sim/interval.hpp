// How far a prediction may lie from a step that is measured.
#pragma once

#include <cstdint>
#include <span>

#include "calibrate/profile.hpp"
#include "hardware/host_time.hpp"
#include "sim/prediction.hpp"

namespace orrery::sim {

/// What decides the width beside the step's breakdown.
struct Doubt {
    const calibrate::Profile& profile;  ///< its held-out errors are those of its kernels and collectives
    kernels::Dtype compute;             ///< of the products
    hardware::Software software;
    bool by_scripts;  ///< a model's and a trainer's own code runs around the layers (PyTorch's, DeepSpeed's)
    bool several_nodes;
    double derived;  ///< share of the step in kernels of which none like them was measured
};

/// Seconds between which four of five measured steps lie: standard deviations of the parts of the step, each whole for
/// all its kernels, and of the software and the cluster, as independent factors of a lognormal time; upwards also work
/// that is not in the program. sim/interval.cpp has them, with their origins.
Interval step_interval(double step_time_s, std::span<const Breakdown> stages, const Doubt& doubt);

}  // namespace orrery::sim
