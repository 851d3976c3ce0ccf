#include <algorithm>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

std::vector<Slot> steady_one_f_one_b(const PipelineShape& shape, std::uint32_t stage) {
    using enum SlotWork;
    const std::uint32_t all = shape.all_micro_batches(), warm_up = std::min(shape.pipeline - 1 - stage, all);
    std::vector<Slot> slots;
    slots.reserve(2 * std::size_t{all} + shape.steps);
    for (std::uint32_t m = 0; m < warm_up; ++m) slots.push_back({forward, 0, m});
    for (std::uint32_t m = 0; m < all; ++m) {
        if (warm_up + m < all) slots.push_back({forward, 0, warm_up + m});
        slots.push_back({backward, 0, m});
        if ((m + 1) % shape.micro_batches == 0) slots.push_back({update});
    }
    return slots;
}

double no_bubble(const PipelineShape& /*shape*/, const WorkSeconds& /*seconds*/) { return 0; }

}  // namespace orrery::strategies
