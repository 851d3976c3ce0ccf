// Two pipelines of 1F1B through the same stages, in opposite directions (Li and Hoefler, SC'21, arXiv:2107.06925).
//
// On a grid of equal steps stage k's forward of a direction's i-th micro-batch stands at 2 i + k, its backward at
// p + 2 i + p - 1 - k. With an even number of stages those of the other direction fall on the steps between (section
// 3.1). p / 2 micro-batches of each direction are a basic unit of 2 p steps a stage; units follow each other directly,
// so that the forwards of the next fill the bubbles behind the last (section 3.5, direct concatenation).
#include <algorithm>
#include <utility>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

std::vector<Slot> chimera(const PipelineShape& shape, std::uint32_t stage) {
    const std::uint32_t stages = shape.pipeline, of_unit = stages / 2;
    std::vector<std::pair<std::uint64_t, Slot>> grid;
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
        const std::uint32_t here = shape.virtual_stage(chunk, stage);
        for (std::uint32_t m = 0; m < shape.micro_batches; ++m) {
            if (!shape.goes_through(chunk, stage, m)) continue;
            const std::uint32_t of_way = m / 2;
            const std::uint64_t begin = 2 * (std::uint64_t{of_way / of_unit} * stages + of_way % of_unit);
            grid.push_back({begin + here, {SlotWork::forward, chunk, m}});
            grid.push_back({begin + stages + (stages - 1 - here), {SlotWork::backward, chunk, m}});
        }
    }
    std::ranges::sort(grid, {}, &std::pair<std::uint64_t, Slot>::first);
    std::vector<Slot> slots;
    slots.reserve(grid.size() + 1);
    for (const auto& [step, slot] : grid) slots.push_back(slot);
    slots.push_back({SlotWork::update});
    return slots;
}

double chimera_bubble(const PipelineShape& shape, const WorkSeconds& seconds) {
    const double longer = std::max(seconds.forward, seconds.backward());
    const double apart = longer - std::min(seconds.forward, seconds.backward());
    const double units = 1.0 * shape.micro_batches / shape.pipeline;
    return (shape.pipeline - 2.0) * (longer + (units - 1) * apart);
}

}  // namespace orrery::strategies
