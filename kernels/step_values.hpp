// Numbers that differ from step to step, in a device's memory: launches that are given them read them as they run, so
// that what was recorded once (Device::record) is right in every step.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/on_both.hpp"

namespace orrery::kernels {

struct StepValues {
    std::uint32_t step = 0;                     ///< of training: masks of dropouts
    float loss_scale = 1, unscale = 1;          ///< of fp16's loss, and of its gradients: one over the other
    float first_moment = 1, second_moment = 1;  ///< Adam's corrections of its moments, 1 / (1 - b^t)
    // Formed by the device within the step.
    float sum_of_squares = 0;  ///< of all gradients
    float overflow = 0;        ///< not finite: the step changes nothing
    float factor = 1;          ///< what the update multiplies gradients by
};

/// What an update reads there. All ranks of a group come to the same.
struct StepUpdate {
    StepValues* values = nullptr;  ///< device memory; null: Settings::adam and scale_factor say all
    double most_norm = 0;          ///< gradients of a larger norm are brought to it; 0: they are not

    bool operator==(const StepUpdate&) const = default;
};

/// What gradients are multiplied by, that their norm be no larger than `most`: as Megatron-LM's clip_grads.py.
ORRERY_ON_BOTH inline double clipping(double most, float sum_of_squares) {
    const double by = most / (std::sqrt(static_cast<double>(sum_of_squares)) + 1e-6);
    return by < 1.0 ? by : 1.0;
}

}  // namespace orrery::kernels
