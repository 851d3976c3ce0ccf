// What a schedule is made of: slots, the works that one pipeline stage does one after the other.
#pragma once

#include <cstdint>

namespace orrery::strategies {

/// backward: both gradients in one go, as most schedules have it. input_gradient: what the stage before waits for
/// (paper: B). weight_gradient: what only the update waits for (W); a schedule has either backward or these two.
/// update: the gradients are reduced and the optimizer runs.
enum class SlotWork : std::uint8_t { forward, backward, input_gradient, weight_gradient, update };

/// One work on one micro-batch in one model chunk of the stage; an update is of all chunks and has no micro-batch.
struct Slot {
    SlotWork work = SlotWork::forward;
    std::uint32_t chunk = 0;
    std::uint32_t micro_batch = 0;
    bool exchange = true;  ///< boundary tensors are sent and received after this slot, together with those of the
                           ///< slots before it since the last exchange

    /// Whether it takes a gradient from the stage behind and hands one on.
    [[nodiscard]] bool hands_gradient_on() const {
        return work == SlotWork::backward || work == SlotWork::input_gradient;
    }
    /// Whether weights have all of this micro-batch's gradient when it has ended.
    [[nodiscard]] bool completes_gradient() const {
        return work == SlotWork::backward || work == SlotWork::weight_gradient;
    }
};

/// micro_batches >= 1 go through pipeline x chunks virtual stages; chunk c of stage s is virtual stage
/// c x pipeline + s.
struct PipelineShape {
    std::uint32_t pipeline = 1, chunks = 1, micro_batches = 1;
};

/// Seconds of one micro-batch's works in all chunks of one stage, the same in every stage.
struct WorkSeconds {
    double forward = 0, input_gradient = 0, weight_gradient = 0;

    [[nodiscard]] double sum() const { return forward + input_gradient + weight_gradient; }
};

}  // namespace orrery::strategies
