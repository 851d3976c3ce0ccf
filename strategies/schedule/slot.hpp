// What a schedule is made of: slots, the works that one pipeline stage does one after the other.
#pragma once

#include <cstdint>

namespace orrery::strategies {

/// backward: both gradients in one go, as most schedules have it. input_gradient: what the stage before waits for
/// (paper: B). weight_gradient: what only the update waits for (W).
/// update: the gradients are reduced and the optimizer runs.
enum class SlotWork : std::uint8_t { forward, backward, input_gradient, weight_gradient, update };

/// Which of these a schedule has: backwards that are whole, or input and weight gradients apart (what the latter need
/// is then kept until they run), or some so and some so.
enum class Backwards : std::uint8_t { whole, split, either };

/// One work on one micro-batch in one model chunk of the stage; an update is of all chunks and has no micro-batch.
struct Slot {
    SlotWork work = SlotWork::forward;
    std::uint32_t chunk = 0;
    std::uint32_t micro_batch = 0;
    bool exchange = true;  ///< boundary tensors are sent and received after this slot, together with those of the
                           ///< slots before it since the last exchange
    /// A forward whose layers run beside those of the backward behind it (PipelineShape::pairs): both begin when what
    /// both take is there, and what both make leaves behind the two.
    bool pairs = false;

    /// Whether it takes a gradient from the stage behind and hands one on.
    [[nodiscard]] bool hands_gradient_on() const {
        return work == SlotWork::backward || work == SlotWork::input_gradient;
    }
    /// Whether weights have all of this micro-batch's gradient when it has ended.
    [[nodiscard]] bool completes_gradient() const {
        return work == SlotWork::backward || work == SlotWork::weight_gradient;
    }
};

/// How the virtual stages, of which each stage holds as many as it has chunks, lie on the stages. wraps: behind the
/// last stage comes the first again (SC'21, figure 4). turns: the way goes back, so that every other chunk runs from
/// the last stage to the first (Qi et al. 2024, arXiv:2405.15362, section 3: a V). opposes: there are two copies of the
/// model, one from the first stage to the last and one from the last to the first, and micro-batches take the one and
/// the other in turn (Li and Hoefler, SC'21, arXiv:2107.06925, section 3); a stage holds two chunks, the lower of its
/// virtual stages first, and shares both with the stage opposite.
enum class ChunkOrder : std::uint8_t { wraps, turns, opposes };

/// Of the model's layers, in a pipeline.
constexpr std::uint32_t copies_of_model(ChunkOrder order) { return order == ChunkOrder::opposes ? 2 : 1; }

/// micro_batches >= 1 of each of `steps` >= 1 steps, which follow each other without a flush where there are several,
/// go through pipeline x chunks virtual stages.
struct PipelineShape {
    std::uint32_t pipeline = 1, chunks = 1, micro_batches = 1;
    ChunkOrder order = ChunkOrder::wraps;
    std::uint32_t steps = 1;
    /// Forwards run beside backwards, layer by layer, so that exchanges of tokens of one hide behind the other: each
    /// stage is then one forward further ahead (overlap-moe-expert-parallel-comm; Megatron-LM, combined_1f1b.py).
    bool pairs = false;

    /// Of all steps.
    [[nodiscard]] constexpr std::uint32_t all_micro_batches() const { return micro_batches * steps; }
    [[nodiscard]] constexpr std::uint32_t copies() const { return copies_of_model(order); }
    /// Chunks of a stage that a micro-batch goes through.
    [[nodiscard]] constexpr std::uint32_t chunks_on_the_way() const { return chunks / copies(); }
    [[nodiscard]] constexpr std::uint32_t virtual_stages() const { return pipeline * chunks_on_the_way(); }
    /// The number of a stage's chunk on the way forward; a stage's chunks have ascending ones.
    [[nodiscard]] constexpr std::uint32_t virtual_stage(std::uint32_t chunk, std::uint32_t stage) const {
        const std::uint32_t before = copies() > 1 ? 0 : chunk * pipeline;
        return before + (backwards(chunk, stage) ? pipeline - 1 - stage : stage);
    }
    /// Whether the way forward through a stage's chunk goes from the last stage to the first.
    [[nodiscard]] constexpr bool backwards(std::uint32_t chunk, std::uint32_t stage) const {
        const bool second_half = order == ChunkOrder::opposes && 2 * stage >= pipeline;
        return order != ChunkOrder::wraps && (chunk % 2 == 1) != second_half;
    }
    /// Whether a micro-batch goes through a stage's chunk.
    [[nodiscard]] constexpr bool goes_through(std::uint32_t chunk, std::uint32_t stage,
                                              std::uint32_t micro_batch) const {
        return copies() == 1 || backwards(chunk, stage) == (micro_batch % 2 == 1);
    }
};

/// Seconds of one micro-batch's works in all chunks of one stage that it goes through, the same in every stage.
struct WorkSeconds {
    double forward = 0, input_gradient = 0, weight_gradient = 0;
    double saved = 0;  ///< by a forward and a whole backward that are a pair

    [[nodiscard]] double backward() const { return input_gradient + weight_gradient; }
    [[nodiscard]] double sum() const { return forward + backward(); }
    [[nodiscard]] double pair() const { return sum() - saved; }
};

}  // namespace orrery::strategies
