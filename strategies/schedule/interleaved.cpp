#include <algorithm>

#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

namespace {

/// The k-th forward of a stage; backwards follow the same order through the chunks from the last to the first.
Slot forward_slot(std::uint32_t pipeline, std::uint32_t chunks, std::uint32_t k) {
    const std::uint32_t group = k / (pipeline * chunks), within = k % (pipeline * chunks);
    return {true, within / pipeline, group * pipeline + within % pipeline};
}

Slot backward_slot(std::uint32_t pipeline, std::uint32_t chunks, std::uint32_t k) {
    Slot slot = forward_slot(pipeline, chunks, k);
    slot.forward = false;
    slot.chunk = chunks - 1 - slot.chunk;
    return slot;
}

}  // namespace

std::vector<Slot> interleaved(std::uint32_t pipeline, std::uint32_t chunks, std::uint32_t stage,
                              std::uint32_t micro_batches) {
    const std::uint32_t total = micro_batches * chunks;
    // Megatron-LM: with as many micro-batches as stages there is no steady state.
    const std::uint32_t warm_up =
        micro_batches == pipeline ? total : std::min((pipeline - stage - 1) * 2 + (chunks - 1) * pipeline, total);
    std::vector<Slot> slots;
    slots.reserve(2 * std::size_t{total});
    for (std::uint32_t k = 0; k < warm_up; ++k) slots.push_back(forward_slot(pipeline, chunks, k));
    for (std::uint32_t k = warm_up; k < total; ++k) {
        slots.push_back(forward_slot(pipeline, chunks, k));
        slots.back().exchange = false;  // the exchange follows the pair
        slots.push_back(backward_slot(pipeline, chunks, k - warm_up));
    }
    for (std::uint32_t k = total - warm_up; k < total; ++k) slots.push_back(backward_slot(pipeline, chunks, k));
    return slots;
}

}  // namespace orrery::strategies
