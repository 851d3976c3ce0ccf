#include <algorithm>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

std::vector<Slot> one_f_one_b(const PipelineShape& shape, std::uint32_t stage) {
    using enum SlotWork;
    const std::uint32_t all = shape.micro_batches, ahead = shape.pairs ? 1 : 0;
    const std::uint32_t warm_up = std::min(shape.pipeline - 1 - stage + ahead, all);
    std::vector<Slot> slots;
    slots.reserve(2 * std::size_t{all} + 1);
    for (std::uint32_t m = 0; m < warm_up; ++m) slots.push_back({forward, 0, m});
    for (std::uint32_t m = warm_up; m < all; ++m) {
        slots.push_back({.work = forward, .micro_batch = m, .exchange = !shape.pairs, .pairs = shape.pairs});
        slots.push_back({backward, 0, m - warm_up});
    }
    for (std::uint32_t m = all - warm_up; m < all; ++m) slots.push_back({backward, 0, m});
    slots.push_back({update});
    return slots;
}

}  // namespace orrery::strategies
