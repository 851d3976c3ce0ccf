#include "strategies/optimizer_phase.hpp"

#include "strategies/ownership.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// Multi-tensor kernels run over all parameters as one row.
class Optimizer {
public:
    Optimizer(Builder& builder, Intern& intern) : builder_(builder), intern_(intern) {}

    void kernel(const std::string& name, Task task, PointwiseKind kind, Dtype dtype, std::uint64_t parameters,
                std::span<const BufferId> reads = {}, std::span<const BufferId> writes = {}) {
        builder_.emit(Lane::compute, intern_.label(name, Phase::optimizer),
                      What{intern_.kernel(Pointwise{kind, dtype, 1, parameters})}, reads, writes);
        builder_.task(task);
    }

    /// A number that all ranks of a group must agree on before the host goes on.
    void agree(const std::string& name, Task task, AxisSet group) {
        const BufferId number = builder_.buffer(4, Keep::scratch);
        builder_.emit(Lane::compute, intern_.label(name, Phase::optimizer),
                      Collective{CollectiveKind::all_reduce, group, 4}, {}, {number});
        builder_.task(task);
        builder_.emit(Lane::compute, intern_.label(name + " on host", Phase::optimizer), HostSync{}, {number}, {});
    }

private:
    Builder& builder_;
    Intern& intern_;
};

/// Of a stage's parameters on one rank, those that it updates.
std::uint64_t owned_parameters(const Plan& plan, const Stage& stage) {
    std::uint64_t owned = 0;
    for (const bool experts : {false, true}) {
        const Ownership of = ownership(plan, class_of_bucket(experts));
        owned += share(plan.mesh(), of, of.states, stage.parameters_of(experts));
    }
    return owned;
}

}  // namespace

BufferId exchange_embedding_gradients(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Builder& builder,
                                      Intern& intern, BufferId gradients) {
    const Ownership words = ownership(plan, ParameterClass::embedding);
    const bool first = stage.index == 0, last = stage.index + 1 == plan.strategy.pipeline;
    if (moves(plan.mesh(), words.gradients, words.states, {Axis::pipeline}).empty() || !(first || last))
        return gradients;
    const Dtype dtype = plan.training.precision.grad_reduce;
    // It follows the rank's own gradient reduction. A ring all-reduce between two ranks moves the whole vector once in
    // each direction.
    const std::uint64_t bytes = blocks.word_embedding_parameters * kernels::size_of(dtype);
    const std::int32_t delta = first ? -1 : 1;
    const Label label = intern.label("embedding gradient exchange", Phase::gradient);
    const BufferId sent = builder.buffer(0, Keep::scratch), received = builder.buffer(bytes, Keep::scratch);
    builder.emit(first ? Lane::recv_forward : Lane::recv_backward, label, Recv{Axis::pipeline, delta, bytes},
                 {gradients}, {received});
    builder.task(Task::exchange_words);
    builder.emit(first ? Lane::send_backward : Lane::send_forward, label, Send{Axis::pipeline, delta, bytes},
                 {gradients}, {sent});
    builder.task(Task::exchange_words);
    const BufferId summed = builder.buffer(0, Keep::scratch);
    builder.emit(Lane::compute, intern.label("embedding gradient sum", Phase::gradient),
                 intern.kernel(Pointwise{PointwiseKind::add, dtype, 1, blocks.word_embedding_parameters}),
                 {received, sent, gradients}, {summed});
    builder.task(Task::sum_words);
    return summed;
}

void emit_optimizer(const Plan& plan, const Stage& stage, Builder& builder, Intern& intern,
                    std::span<const BufferId> gradients) {
    const std::uint64_t owned = owned_parameters(plan, stage);
    const Dtype reduced = plan.training.precision.grad_reduce;
    const bool half_gradients = kernels::size_of(reduced) == 2;
    const AxisSet model_group = updates_differ(plan);
    Optimizer out(builder, intern);
    if (half_gradients)
        out.kernel("gradients to fp32", Task::widen_gradients, PointwiseKind::cast, reduced, owned, gradients);
    else
        out.kernel("gradient scaling", Task::scale_gradients, PointwiseKind::scale, Dtype::fp32, owned, gradients);
    if (plan.training.precision.compute == Dtype::fp16) {
        out.kernel("unscale and check", Task::unscale_gradients, PointwiseKind::scale, Dtype::fp32, owned);
        out.agree("overflow check", Task::agree_overflow, model_group);
    }
    if (plan.training.grad_clip > 0) {
        out.kernel("gradient norm", Task::sum_squares, PointwiseKind::sum_of_squares, Dtype::fp32, owned);
        out.agree("gradient norm", Task::agree_norm, model_group);
        out.kernel("clip", Task::clip, PointwiseKind::scale, Dtype::fp32, owned);
    }
    const BufferId updated = builder.buffer(0, Keep::scratch);
    const Dtype weights = kernels::size_of(plan.training.precision.compute) == 4 ? Dtype::fp32 : Dtype::bf16;
    out.kernel("adam", Task::update, PointwiseKind::adam, weights, owned, {}, std::span(&updated, 1));
    if (plan.strategy.overlap_param_gather) return;
    for (const bool experts : {false, true}) {
        const std::uint64_t parameters = stage.parameters_of(experts);
        const Ownership of = ownership(plan, class_of_bucket(experts));
        if (parameters == 0) continue;
        const std::uint64_t bytes = parameters * kernels::size_of(weights);
        for (const Move& move : moves(plan.mesh(), of.states, of.weights, of.replicas)) {
            builder.emit(Lane::data, intern.label("gather weights", Phase::optimizer),
                         Collective{move.kind, move.group, move.size(plan.mesh(), bytes)}, {updated}, {});
            builder.task(experts ? Task::gather_expert_weights : Task::gather_weights);
        }
    }
}

}  // namespace orrery::strategies
