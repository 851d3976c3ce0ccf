#include <algorithm>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

/// ZB-H1 with twice the forwards ahead of the first backward, and twice the weight gradients put off: stage s begins
/// with 2 (p - s) - 1 forwards and puts off 2 s weight gradients, so that every stage works from its first forward to
/// its update, s forwards later than the first stage, and goes on with the next step at once.
std::vector<Slot> zb_h2(const PipelineShape& shape, std::uint32_t stage) {
    using enum SlotWork;
    const std::uint32_t all = shape.micro_batches, put_off = std::min(2 * stage, all);
    const std::uint32_t ahead = std::min(2 * (shape.pipeline - stage) - 1, all);
    std::vector<Slot> slots;
    slots.reserve((3 * std::size_t{all} + 1) * shape.steps);
    for (std::uint32_t begin = 0; begin < shape.all_micro_batches(); begin += all) {
        const auto add = [&](SlotWork work, std::uint32_t m) {
            slots.push_back({work, 0, begin + m, work != weight_gradient});
        };
        for (std::uint32_t m = 0; m < ahead; ++m) add(forward, m);
        for (std::uint32_t m = 0; m < all; ++m) {
            add(input_gradient, m);
            if (m >= put_off) add(weight_gradient, m - put_off);
            if (ahead + m < all) add(forward, ahead + m);
        }
        for (std::uint32_t m = all - put_off; m < all; ++m) add(weight_gradient, m);
        slots.push_back({update});
    }
    return slots;
}

double zb_h2_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    const double f = seconds.forward, b = seconds.input_gradient, w = seconds.weight_gradient;
    return (shape.pipeline - 1) * (f + b - 2 * std::min({f, b, w}));
}

}  // namespace orrery::strategies
