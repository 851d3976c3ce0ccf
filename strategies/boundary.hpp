// The tensors that cross between pipeline stages.
#pragma once

#include <cstdint>

#include "strategies/intern.hpp"
#include "strategies/plan.hpp"
#include "strategies/schedule/slot.hpp"
#include "strategies/slot_table.hpp"

namespace orrery::strategies {

/// Emits the sends and receives of one stage and remembers the buffers of tensors on their way to or from a slot. Where
/// the way through the stages turns, a tensor goes from one chunk to another of the same stage.
class Boundary {
public:
    Boundary(const Plan& plan, std::uint32_t stage, Builder& builder, Intern& intern);

    /// Whether a slot's input comes from, or its output goes to, another stage: those of weight gradients and of an
    /// update never do.
    [[nodiscard]] bool receives(const Slot& slot) const;
    [[nodiscard]] bool sends(const Slot& slot) const;

    /// Posts the receive of a slot's input; returns the buffer.
    BufferId post_receive(const Slot& slot);
    /// Whether its input comes from another chunk of this stage, and whether its output goes to one.
    [[nodiscard]] bool takes(const Slot& slot) const;
    [[nodiscard]] bool hands_over(const Slot& slot) const;
    /// The buffer of a posted receive, gathered over the tensor axis when its parts came separately; or of what another
    /// chunk handed over.
    BufferId input(const Slot& slot);
    /// A buffer for a slot's output, then its send; returns a token that the send writes.
    BufferId output() { return builder_.buffer(full_bytes_, Keep::scratch); }
    /// The same where it is handed over.
    BufferId output_here(const Slot& slot);
    BufferId send(const Slot& slot, BufferId what);

private:
    [[nodiscard]] bool scattered() const;
    [[nodiscard]] bool first(std::uint32_t chunk) const { return shape_.virtual_stage(chunk, stage_) == 0; }
    [[nodiscard]] bool last(std::uint32_t chunk) const {
        return shape_.virtual_stage(chunk, stage_) + 1 == shape_.virtual_stages();
    }
    /// Whether the way forward turns on this stage behind a chunk.
    [[nodiscard]] bool turns_behind(std::uint32_t chunk) const {
        return shape_.order == ChunkOrder::turns && !last(chunk) &&
               stage_ == (shape_.backwards(chunk, stage_) ? 0 : shape_.pipeline - 1);
    }
    /// Along the axis of stages, the way of what a slot hands on.
    [[nodiscard]] std::int32_t ahead(const Slot& slot) const {
        return (slot.work == SlotWork::forward) == shape_.backwards(slot.chunk, stage_) ? -1 : 1;
    }
    Label label(Name& forward, Name& backward, const Slot& slot);

    PipelineShape shape_;
    std::uint32_t stage_;
    Builder& builder_;
    Intern& intern_;
    std::uint64_t full_bytes_, wire_bytes_;
    /// By the slot that takes them.
    struct Inputs {
        SlotTable<BufferId> forward, backward;

        explicit Inputs(const PipelineShape& shape) : forward(shape), backward(shape) {}
        BufferId& of(bool ahead, std::uint32_t chunk, std::uint32_t micro_batch) {
            return (ahead ? forward : backward).at(chunk, micro_batch);
        }
    };
    Inputs posted_, here_;
    Name receive_activation_{"receive activation"}, receive_gradient_{"receive gradient"};
    Name send_activation_{"send activation"}, send_gradient_{"send gradient"}, gather_{"gather boundary"};
};

}  // namespace orrery::strategies
