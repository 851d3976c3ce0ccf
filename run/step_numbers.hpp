// The numbers of one step, which actions read when they run.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/settings.hpp"

namespace orrery::run {

struct StepNumbers {
    kernels::Adam adam;         ///< with the number of updates, this step's among them
    std::uint64_t seed = 1;     ///< of the run
    std::uint64_t step = 0;     ///< of training, the program's first
    double loss_scale = 1;      ///< under fp16
    float* norm = nullptr;      ///< host memory: the sum of squares of all gradients
    float* overflow = nullptr;  ///< host memory: a number where gradients are
    bool may_skip = false;      ///< a step whose gradients are not all finite changes nothing

    [[nodiscard]] bool skips() const { return may_skip && !std::isfinite(*overflow); }
};

}  // namespace orrery::run
