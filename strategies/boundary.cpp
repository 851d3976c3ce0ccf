#include "strategies/boundary.hpp"

#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

Boundary::Boundary(const Plan& plan, std::uint32_t stage, Builder& builder, Intern& intern)
    : plan_(plan), stage_(stage), builder_(builder), intern_(intern) {
    const std::uint64_t element = kernels::size_of(activation_dtype(plan));
    const std::uint64_t whole =
        std::uint64_t{plan.training.micro_batch} * plan.training.seq * plan.model.hidden * element;
    const bool split = plan.strategy.tensor > 1 && (plan.strategy.sequence_parallel || plan.strategy.scatter_gather);
    wire_bytes_ = split ? whole / plan.strategy.tensor : whole;
    full_bytes_ = plan.strategy.sequence_parallel ? wire_bytes_ : whole;
}

bool Boundary::scattered() const { return wire_bytes_ < full_bytes_; }

bool Boundary::receives(bool forward, std::uint32_t chunk) const {
    const bool first = chunk == 0 && stage_ == 0;
    const bool last = chunk + 1 == plan_.strategy.virtual_pipeline && stage_ + 1 == plan_.strategy.pipeline;
    return forward ? !first : !last;
}

bool Boundary::sends(bool forward, std::uint32_t chunk) const { return receives(!forward, chunk); }

BufferId Boundary::post_receive(bool forward, std::uint32_t chunk, std::uint32_t micro_batch) {
    const BufferId buffer = builder_.buffer(wire_bytes_, Keep::scratch);
    builder_.emit(forward ? Lane::recv_forward : Lane::recv_backward,
                  intern_.label(forward ? "receive activation" : "receive gradient",
                                forward ? Phase::forward : Phase::backward, static_cast<std::int32_t>(micro_batch)),
                  Recv{Axis::pipeline, forward ? -1 : 1, wire_bytes_}, {}, {buffer});
    posted_[{forward, {chunk, micro_batch}}] = buffer;
    return buffer;
}

BufferId Boundary::input(bool forward, std::uint32_t chunk, std::uint32_t micro_batch) {
    const auto posted = posted_.extract({forward, {chunk, micro_batch}});
    if (!scattered()) return posted.mapped();
    const BufferId whole = builder_.buffer(full_bytes_, Keep::scratch);
    builder_.emit(Lane::compute,
                  intern_.label("gather boundary", forward ? Phase::forward : Phase::backward,
                                static_cast<std::int32_t>(micro_batch)),
                  Collective{kernels::CollectiveKind::all_gather, {Axis::tensor}, full_bytes_}, {posted.mapped()},
                  {whole});
    return whole;
}

BufferId Boundary::send(bool forward, std::uint32_t micro_batch, BufferId what) {
    const BufferId token = builder_.buffer(0, Keep::scratch);
    builder_.emit(forward ? Lane::send_forward : Lane::send_backward,
                  intern_.label(forward ? "send activation" : "send gradient",
                                forward ? Phase::forward : Phase::backward, static_cast<std::int32_t>(micro_batch)),
                  Send{Axis::pipeline, forward ? 1 : -1, wire_bytes_}, {what}, {token});
    return token;
}

}  // namespace orrery::strategies
