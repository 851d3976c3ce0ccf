#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

std::vector<Slot> gpipe(const PipelineShape& shape, std::uint32_t /*stage*/) {
    using enum SlotWork;
    std::vector<Slot> slots;
    slots.reserve(2 * std::size_t{shape.micro_batches} + 1);
    for (std::uint32_t m = 0; m < shape.micro_batches; ++m) slots.push_back({forward, 0, m});
    for (std::uint32_t m = shape.micro_batches; m-- > 0;) slots.push_back({backward, 0, m});
    slots.push_back({update});
    return slots;
}

}  // namespace orrery::strategies
