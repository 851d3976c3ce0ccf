#include "strategies/boundary.hpp"

#include "strategies/messages.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

Boundary::Boundary(const Plan& plan, std::uint32_t stage, Builder& builder, Intern& intern)
    : shape_(plan.pipeline_shape()), stage_(stage), builder_(builder), intern_(intern), posted_(shape_), here_(shape_) {
    const std::uint64_t element = kernels::size_of(residual_dtype(plan));
    const std::uint64_t whole = plan.rank_tokens() * plan.model.hidden * element;
    const bool parted = plan.strategy.sequence_parallel || plan.tensor_grid().divides();  // ranks hold parts anyway
    const bool split = plan.strategy.tensor > 1 && (parted || plan.strategy.scatter_gather);
    wire_bytes_ = split ? whole / plan.strategy.tensor : whole;
    full_bytes_ = parted ? wire_bytes_ : whole;
}

bool Boundary::scattered() const { return wire_bytes_ < full_bytes_; }

bool Boundary::takes(const Slot& slot) const {
    if (slot.work == SlotWork::forward) return slot.chunk > 0 && turns_behind(slot.chunk - 1);
    return slot.hands_gradient_on() && turns_behind(slot.chunk);
}

bool Boundary::hands_over(const Slot& slot) const {
    if (slot.work == SlotWork::forward) return turns_behind(slot.chunk);
    return slot.hands_gradient_on() && slot.chunk > 0 && turns_behind(slot.chunk - 1);
}

bool Boundary::receives(const Slot& slot) const {
    if (takes(slot)) return false;
    return slot.work == SlotWork::forward ? !first(slot.chunk) : slot.hands_gradient_on() && !last(slot.chunk);
}

bool Boundary::sends(const Slot& slot) const {
    if (hands_over(slot)) return false;
    return slot.work == SlotWork::forward ? !last(slot.chunk) : slot.hands_gradient_on() && !first(slot.chunk);
}

Label Boundary::label(Name& forward, Name& backward, const Slot& slot) {
    const auto micro_batch = static_cast<std::int32_t>(slot.micro_batch);
    return slot.work == SlotWork::forward ? intern_.label(forward, Phase::forward, micro_batch)
                                          : intern_.label(backward, Phase::backward, micro_batch);
}

BufferId Boundary::post_receive(const Slot& slot) {
    const bool forward = slot.work == SlotWork::forward;
    const BufferId buffer = builder_.buffer(wire_bytes_, Keep::scratch);
    builder_.emit(receive_lane(forward, shape_.backwards(slot.chunk, stage_)),
                  label(receive_activation_, receive_gradient_, slot), Recv{Axis::pipeline, -ahead(slot), wire_bytes_},
                  {}, {buffer});
    return posted_.of(forward, slot.chunk, slot.micro_batch) = buffer;
}

BufferId Boundary::input(const Slot& slot) {
    const bool forward = slot.work == SlotWork::forward;
    if (takes(slot)) return here_.of(forward, slot.chunk, slot.micro_batch);
    const BufferId posted = posted_.of(forward, slot.chunk, slot.micro_batch);
    if (!scattered()) return posted;
    const BufferId whole = builder_.buffer(full_bytes_, Keep::scratch);
    builder_.emit(Lane::compute, label(gather_, gather_, slot),
                  Collective{kernels::CollectiveKind::all_gather, {Axis::tensor}, full_bytes_}, {posted}, {whole});
    return whole;
}

BufferId Boundary::output_here(const Slot& slot) {
    const bool forward = slot.work == SlotWork::forward;
    const std::uint32_t next = forward ? slot.chunk + 1 : slot.chunk - 1;
    return here_.of(forward, next, slot.micro_batch) = output();
}

BufferId Boundary::send(const Slot& slot, BufferId what) {
    const bool forward = slot.work == SlotWork::forward;
    const BufferId token = builder_.buffer(0, Keep::scratch);
    builder_.emit(send_lane(forward, shape_.backwards(slot.chunk, stage_)),
                  label(send_activation_, send_gradient_, slot), Send{Axis::pipeline, ahead(slot), wire_bytes_}, {what},
                  {token});
    return token;
}

}  // namespace orrery::strategies
