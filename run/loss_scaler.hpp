// The scale of fp16's loss from step to step.
#pragma once

#include <cstdint>

#include "strategies/plan.hpp"

namespace orrery::run {

/// As Megatron-LM's (core/optimizer/grad_scaler.py, DynamicGradScaler and ConstantGradScaler), with its factors of a
/// half and two. All ranks of a run come to the same.
class LossScaler {
public:
    explicit LossScaler(const strategies::LossScaling& rules)
        : rules_(rules), scale_(rules.constant > 0 ? rules.constant : rules.initial), left_(rules.hysteresis) {}

    /// Of the next step.
    [[nodiscard]] double scale() const { return scale_; }
    /// Steps so far that changed nothing.
    [[nodiscard]] std::uint64_t skipped() const { return skipped_; }
    /// A step has ended; finite: whether all of its gradients were.
    void update(bool finite);

private:
    strategies::LossScaling rules_;
    double scale_;
    std::uint32_t left_;        ///< steps that may overflow before the scale falls
    std::uint32_t finite_ = 0;  ///< steps since the last that did, or since the scale grew
    std::uint64_t skipped_ = 0;
};

}  // namespace orrery::run
