#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

std::vector<Slot> gpipe(std::uint32_t micro_batches) {
    std::vector<Slot> slots;
    slots.reserve(2 * std::size_t{micro_batches});
    for (std::uint32_t m = 0; m < micro_batches; ++m) slots.push_back({true, 0, m});
    for (std::uint32_t m = micro_batches; m-- > 0;) slots.push_back({false, 0, m});
    return slots;
}

}  // namespace orrery::strategies
