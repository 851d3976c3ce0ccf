#include <algorithm>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

/// 1F1B whose stage s puts off the weight gradients of its first s micro-batches, and of every later one in turn: no
/// stage keeps more micro-batches than the first one of 1F1B, input gradients run up the pipeline sooner, and what was
/// put off fills the end.
std::vector<Slot> zb_h1(const PipelineShape& shape, std::uint32_t stage) {
    using enum SlotWork;
    const std::uint32_t all = shape.micro_batches, warm_up = std::min(shape.pipeline - 1 - stage, all);
    std::vector<Slot> slots;
    slots.reserve(3 * std::size_t{all} + 1);
    // A weight gradient moves nothing between stages.
    const auto weight_gradient_of = [&](std::uint32_t m) { slots.push_back({weight_gradient, 0, m, false}); };
    for (std::uint32_t m = 0; m < warm_up; ++m) slots.push_back({forward, 0, m});
    for (std::uint32_t m = 0; m < all; ++m) {
        if (warm_up + m < all) slots.push_back({forward, 0, warm_up + m});
        slots.push_back({input_gradient, 0, m});
        if (m >= stage) weight_gradient_of(m - stage);
    }
    for (std::uint32_t m = all - std::min(stage, all); m < all; ++m) weight_gradient_of(m);
    slots.push_back({update});
    return slots;
}

double zb_h1_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    const double f = seconds.forward, b = seconds.input_gradient, w = seconds.weight_gradient;
    return (shape.pipeline - 1) * (f + b - std::min({f, b, w}));
}

}  // namespace orrery::strategies
