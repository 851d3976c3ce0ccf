#include <algorithm>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

namespace {

/// The k-th forward of a stage; backwards follow the same order through the chunks from the last to the first.
Slot forward_slot(const PipelineShape& shape, std::uint32_t k) {
    const std::uint32_t round = shape.pipeline * shape.chunks, group = k / round, within = k % round;
    return {SlotWork::forward, within / shape.pipeline, group * shape.pipeline + within % shape.pipeline};
}

Slot backward_slot(const PipelineShape& shape, std::uint32_t k) {
    Slot slot = forward_slot(shape, k);
    slot.work = SlotWork::backward;
    slot.chunk = shape.chunks - 1 - slot.chunk;
    return slot;
}

}  // namespace

std::vector<Slot> interleaved(const PipelineShape& shape, std::uint32_t stage) {
    if (shape.chunks == 1) return one_f_one_b(shape, stage);
    const std::uint32_t total = shape.micro_batches * shape.chunks;
    // Also with as many micro-batches as stages: Megatron-LM ran all forwards first there until Megatron-Core 0.10
    // (4295be1a, November 2024), which kept the activations of all micro-batches for the same bubble.
    const std::uint32_t warm_up =
        std::min((shape.pipeline - stage - 1) * 2 + (shape.chunks - 1) * shape.pipeline + (shape.pairs ? 1 : 0), total);
    std::vector<Slot> slots;
    slots.reserve(2 * std::size_t{total} + 1);
    for (std::uint32_t k = 0; k < warm_up; ++k) slots.push_back(forward_slot(shape, k));
    for (std::uint32_t k = warm_up; k < total; ++k) {
        slots.push_back(forward_slot(shape, k));
        slots.back().exchange = false;  // the exchange follows the pair
        slots.back().pairs = shape.pairs;
        slots.push_back(backward_slot(shape, k - warm_up));
    }
    for (std::uint32_t k = total - warm_up; k < total; ++k) slots.push_back(backward_slot(shape, k));
    slots.push_back({SlotWork::update});
    return slots;
}

}  // namespace orrery::strategies
