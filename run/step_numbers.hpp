// The numbers of one step, which actions read when they run.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/settings.hpp"
#include "kernels/step_values.hpp"

namespace orrery::run {

struct StepNumbers {
    kernels::Adam adam;         ///< with the number of updates, this step's among them
    std::uint64_t seed = 1;     ///< of the run
    std::uint64_t step = 0;     ///< of training, the program's first
    double loss_scale = 1;      ///< under fp16
    float* norm = nullptr;      ///< host memory: the sum of squares of all gradients
    float* overflow = nullptr;  ///< host memory: a number where gradients are
    bool may_skip = false;      ///< a step whose gradients are not all finite changes nothing
    /// Device memory, where steps are recorded: launches read these numbers there, and the norm that the step forms.
    kernels::StepValues* live = nullptr;

    [[nodiscard]] bool skips() const { return may_skip && !std::isfinite(*overflow); }
    /// What `live` begins the step with.
    [[nodiscard]] kernels::StepValues values() const {
        kernels::StepValues now;
        now.step = static_cast<std::uint32_t>(step);
        now.loss_scale = static_cast<float>(loss_scale);
        now.unscale = static_cast<float>(1 / loss_scale);
        now.first_moment = static_cast<float>(1 / (1 - std::pow(adam.b1, adam.step)));
        now.second_moment = static_cast<float>(1 / (1 - std::pow(adam.b2, adam.step)));
        return now;
    }
};

}  // namespace orrery::run
