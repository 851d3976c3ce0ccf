#include "strategies/shard_copies.hpp"

#include "strategies/gradient_wire.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/updates.hpp"
#include "strategies/zero_plus_plus.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

bool is(const Plan& plan, FsdpImplementation implementation) {
    return plan.strategy.full_sharding.implementation == implementation;
}

/// Passes over gradients, one behind the other.
class Passes {
public:
    Passes(Builder& builder, Intern& intern, std::uint64_t numbers, BufferId from)
        : builder_(builder), intern_(intern), numbers_(numbers), made_{from} {}

    /// To a buffer of their own.
    void copy(Lane lane, Dtype from, Dtype to) {
        const std::uint64_t bytes = numbers_ * kernels::size_of(to);
        emit(lane, "copy gradients", cast_between(from, to, numbers_), builder_.buffer(bytes, Keep::gradient, use));
    }
    /// By the number of ranks, where they are.
    void divide(Lane lane, Dtype dtype) {
        const BufferId there = made_.front();
        emit(lane, "divide gradients", {PointwiseKind::scale, dtype, 1, numbers_}, builder_.buffer(0, Keep::scratch));
        made_.push_back(there);
    }
    [[nodiscard]] std::vector<BufferId> made() && { return std::move(made_); }

private:
    static constexpr Lifetime use{.span = Lifetime::Span::use};

    void emit(Lane lane, const char* name, const Pointwise& kernel, BufferId written) {
        Label label = intern_.label(name, Phase::gradient);
        label.plain = true;
        builder_.emit(lane, label, What{intern_.kernel(kernel)}, made_, std::span(&written, 1));
        builder_.state({});
        made_ = {written};
    }

    Builder& builder_;
    Intern& intern_;
    std::uint64_t numbers_;
    std::vector<BufferId> made_;
};

}  // namespace

/// torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py (foreach_all_gather_copy_out, on the current stream);
/// deepspeed/runtime/zero/partition_parameters.py (AllGatherCoalescedHandle.wait: torch.cat of partitions). FSDP1's
/// parameters are views of what was gathered.
CopiesOut copies_out(const Plan& plan) {
    if (plan.strategy.quantized_weights) return CopiesOut::none;  // what dequantizes writes them
    if (is(plan, FsdpImplementation::fsdp2)) return CopiesOut::in_turn;
    return is(plan, FsdpImplementation::deepspeed) ? CopiesOut::beside : CopiesOut::none;
}

BufferId copy_out_of_gather(const Plan& plan, Builder& builder, Intern& intern, const Label& label, std::uint64_t room,
                            BufferId gathered) {
    const std::uint64_t bytes = builder.bytes(gathered);
    const BufferId whole = builder.buffer(bytes + room, Keep::weight, {.span = Lifetime::Span::use});
    Label own = intern.label("copy gathered weights", label.phase, label.micro_batch, label.layer);
    own.plain = true;
    builder.emit(copies_out(plan) == CopiesOut::in_turn ? Lane::compute : Lane::data, own,
                 What{intern.kernel(copying(bytes))}, {gathered}, {whole});
    builder.state({});
    return whole;
}

bool forms_apart(const Plan& plan) {
    return !is(plan, FsdpImplementation::megatron_fsdp) && plan.strategy.syncs_each_micro_batch();
}

bool adds_apart(const Plan& plan, bool several) {
    const bool adds = several || !plan.gradients_come_and_go();
    return !plan.training.gradient_accumulation_fusion && !forms_apart(plan) && adds;
}

bool adds_inside(const Plan& plan) {
    return plan.training.gradient_accumulation_fusion && !forms_apart(plan) && !plan.gradients_come_and_go();
}

std::uint64_t formed_bytes(const Plan& plan, std::uint64_t numbers) {
    const StateBytes bytes = state_bytes(plan.training);
    return numbers * (forms_apart(plan) ? bytes.weight : bytes.gradient);
}

/// FSDP1: autograd joins the gradients of views into one of the flat parameter, which is cast and divided on the stream
/// of its reduction (torch/distributed/fsdp/_runtime_utils.py, _post_backward_hook, _reduce_grad). FSDP2: _chunk_cat,
/// which casts. DeepSpeed: into the bucket, from there in the ranks' order, divided (runtime/zero/stage3.py,
/// __add_grad_to_ipg_bucket; runtime/comm/coalesced_collectives.py, reduce_scatter_coalesced).
std::vector<BufferId> copy_into_scatter(const Plan& plan, Builder& builder, Intern& intern, std::uint64_t numbers,
                                        BufferId from, bool summed) {
    const Dtype reduced = plan.training.precision.grad_reduce;
    const Dtype formed = summed ? reduced : optimizer_copy(plan);  // as the weights are that they belong to
    Passes passes(builder, intern, numbers, from);
    switch (plan.strategy.full_sharding.implementation) {
        case FsdpImplementation::megatron_fsdp: break;
        case FsdpImplementation::fsdp1:
            passes.copy(Lane::compute, formed, formed);
            if (kernels::size_of(formed) != kernels::size_of(reduced)) passes.copy(Lane::data, formed, reduced);
            passes.divide(Lane::data, reduced);
            break;
        case FsdpImplementation::fsdp2: passes.copy(Lane::compute, formed, reduced); break;
        case FsdpImplementation::deepspeed:
            passes.copy(Lane::data, formed, reduced);
            passes.copy(Lane::data, reduced, reduced);
            passes.divide(Lane::data, reduced);
            break;
    }
    return std::move(passes).made();
}

}  // namespace orrery::strategies
