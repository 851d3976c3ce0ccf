#include <algorithm>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

std::vector<Slot> one_f_one_b(std::uint32_t pipeline, std::uint32_t stage, std::uint32_t micro_batches) {
    const std::uint32_t warm_up = std::min(pipeline - 1 - stage, micro_batches);
    std::vector<Slot> slots;
    slots.reserve(2 * std::size_t{micro_batches});
    for (std::uint32_t m = 0; m < warm_up; ++m) slots.push_back({true, 0, m});
    for (std::uint32_t m = warm_up; m < micro_batches; ++m) {
        slots.push_back({true, 0, m});
        slots.push_back({false, 0, m - warm_up});
    }
    for (std::uint32_t m = micro_batches - warm_up; m < micro_batches; ++m) slots.push_back({false, 0, m});
    return slots;
}

}  // namespace orrery::strategies
