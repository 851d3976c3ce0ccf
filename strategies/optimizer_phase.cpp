#include "strategies/optimizer_phase.hpp"

#include <array>
#include <optional>

#include "strategies/compressed_momentum.hpp"
#include "strategies/narrow_weights.hpp"
#include "strategies/optimizer_groups.hpp"
#include "strategies/ownership.hpp"
#include "strategies/sharding_rules.hpp"
#include "strategies/state_bytes.hpp"
#include "strategies/updates.hpp"
#include "strategies/weight_offload.hpp"

namespace orrery::strategies {

namespace {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// Ranks that find one norm, and one overflow, of their gradients. In a pipeline without flushes stages come to their
/// updates at different times, and each finds its own.
AxisSet agree_on_gradients(const Plan& plan) {
    const AxisSet all = updates_differ(plan);
    return schedule_of(plan.strategy.schedule).asynchronous ? all.without(Axis::pipeline) : all;
}

/// What the optimizer finds gradients in: as they were summed where it makes no fp32 of them.
Dtype clipped_format(const Training& training) {
    return training.master_weights ? Dtype::fp32 : training.precision.grad_reduce;
}

/// Megatron-LM's count_zeros_fp32 (core/optimizer/clip_grads.py), of each parameter that this rank updates. Its four
/// kernels (what is not zero, their number, that of zeros, the sum) cost the host what one of a layer's does: 6.4 us of
/// Python against 22.4 (tools/host_overhead.py), and 4 launches against 1.6. All take as long as one of the mean size;
/// of a parameter that is split over ranks each has a part.
void count_zeros(const Plan& plan, const Stage& stage, std::uint64_t owned, Updates& out,
                 std::span<const BufferId> first) {
    if (!plan.training.log_num_zeros_in_grad || owned == 0) return;
    const std::uint64_t tensors = owned_tensors(stage, owned);
    if (tensors == 0) return;  // a bound's stage has counted none
    const std::uint64_t each = (owned + tensors - 1) / tensors;
    for (std::uint64_t i = 0; i < tensors; ++i)
        out.kernel("count zeros", PointwiseKind::sum_of_squares, clipped_format(plan.training), each, {},
                   i == 0 ? first : Updates::none);
    out.agree("zeros in gradients", agree_on_gradients(plan), {});
}

/// What the device updates of an array, or all of it.
StateView on_device(State state, Portion portion, bool divided) {
    return {.state = state, .portion = portion, .holder = divided ? Holder::device : Holder::either};
}

/// Orrery's own Adam scales and clips the gradients that it reads, where no other part of them is the host's.
bool adam_scales(const Plan& plan) {
    return plan.training.software == hardware::Software::orrery && is_fused_adam(plan.training) && !plan.compresses() &&
           !plan.strategy.optimizer_cpu_offload;
}

/// What is still to be multiplied by it: sums in 16 bits are scaled on the way to fp32.
std::optional<double> scale_in_adam(const Plan& plan) {
    const bool narrow = kernels::size_of(plan.training.precision.grad_reduce) == 2;
    return adam_scales(plan) && !narrow ? std::optional(mean_of_micro_batches(plan)) : std::nullopt;
}

/// Of what the host updates, as it was summed, and of what the device does, which is scaled already or by Adam.
void gradient_norm(const Plan& plan, std::uint64_t owned, std::uint64_t here, Updates& out,
                   std::span<const BufferId> first) {
    const bool divided = here < owned;
    if (divided)
        out.kernel("gradient norm", PointwiseKind::sum_of_squares, plan.training.precision.grad_reduce, owned - here,
                   {.operands = {{.state = State::gradients, .portion = Portion::counted, .holder = Holder::host},
                                 {State::norm}},
                    .settings = {.scale_factor = mean_of_micro_batches(plan)}},
                   first);
    out.kernel("gradient norm", PointwiseKind::sum_of_squares, clipped_format(plan.training), here,
               {.operands = {on_device(State::main_gradients, Portion::counted, divided), {State::norm}},
                .settings = {.accumulate = divided, .scale_factor = scale_in_adam(plan)}},
               first);
}

/// PyTorch's torch._amp_foreach_non_finite_check_and_unscale_, and what ranks find of it. Of gradients that the host
/// updates with, prediction only.
void check_overflow(const Plan& plan, std::uint64_t owned, std::uint64_t here, Updates& out,
                    std::span<const BufferId> first) {
    const StateView main = on_device(State::main_gradients, Portion::updated, false), found{State::overflow};
    const bool executed = here == owned;
    out.kernel("unscale and check", PointwiseKind::scale, clipped_format(plan.training), owned,
               executed ? StateDetail{.operands = {main, main}, .unscales = true} : StateDetail{}, first);
    const AxisSet group = agree_on_gradients(plan);
    out.agree("overflow check", plan.compresses() ? group | plan.data_group() : group,
              executed ? StateDetail{.operands = {found, found}} : StateDetail{});
}

/// By their norm over all of them. PyTorch's loop takes the norm of each tensor, and scales each, unless it
/// takes all at once (foreach).
void clip_gradients(const Plan& plan, const Stage& stage, std::uint64_t owned, std::uint64_t here, Updates& out,
                    std::span<const BufferId> first) {
    const StateView main = on_device(State::main_gradients, Portion::updated, here < owned);
    constexpr std::array norm{UpdateKernel{"gradient norm", 1}}, clip{UpdateKernel{"clip", 2}};
    const Training& training = plan.training;
    const Dtype summed = clipped_format(training);
    const bool at_once = training.fused_optimizer || training.foreach_optimizer;
    if (training.grad_clip == 0) return;
    if (at_once)
        gradient_norm(plan, owned, here, out, first);
    else
        out.by_parameter(owned_tensors(stage, owned), owned, norm, summed, first);
    out.agree("gradient norm", agree_on_gradients(plan), {.operands = {{State::norm}, {State::norm}}});
    if (!at_once) return out.by_parameter(owned_tensors(stage, owned), owned, clip, summed);
    if (!row_of(training.optimizer).clips && !adam_scales(plan))
        out.kernel("clip", PointwiseKind::scale, summed, here,
                   {.operands = {main, main}, .most_norm = training.grad_clip});
}

/// A rank's own to fp8 or fp4, behind the maxima of these where scales are current (fp8_utils.py,
/// quantize_param_shard). What they are then, or `updated`.
BufferId cast_weights(const Plan& plan, const Stage& stage, Builder& builder, Updates& out, BufferId updated) {
    if (!optimizer_casts(plan)) return updated;
    std::uint64_t narrow = 0;
    for (const bool experts : {false, true}) {
        const Ownership of = ownership(plan, class_of_bucket(experts));
        narrow += share(plan.mesh(), of, of.states, stage.trained_weights(experts).narrow);
    }
    if (narrow == 0) return updated;
    const BufferId cast = builder.buffer(0, Keep::scratch);
    if (reads_maximum_first(plan))
        out.kernel("maxima of weights", PointwiseKind::sum_of_squares, Dtype::fp32, narrow, {}, {&updated, 1});
    out.kernel("weights to narrow format", PointwiseKind::cast, Dtype::fp8, narrow, {}, {&updated, 1}, {&cast, 1});
    return cast;
}

/// Of new weights, from those that updated them.
void gather_weights(const Plan& plan, const Stage& stage, Builder& builder, Intern& intern,
                    std::span<const BufferId> updated) {
    for (const bool experts : {false, true}) {
        const WeightCount weights = stage.trained_weights(experts);
        const Ownership of = ownership(plan, class_of_bucket(experts));
        if (weights.all == 0) continue;
        const std::uint64_t bytes = moved_weight_bytes(plan, weights);
        for (const Move& move : moves(plan.mesh(), of.states, of.weights, of.replicas)) {
            builder.emit(Lane::data, intern.label("gather weights", Phase::optimizer),
                         What{Collective{move.kind, move.group, move.size(plan.mesh(), bytes)}}, updated,
                         std::span<const BufferId>{});
            const std::uint32_t which = experts ? StateView::of_experts : StateView::not_of_experts;
            builder.state(
                {.operands = {{State::weights, Portion::updated, which}, {State::weights, Portion::kept, which}}});
        }
    }
}

}  // namespace

std::uint64_t owned_parameters(const Plan& plan, const Stage& stage) {
    std::uint64_t owned = 0;
    for (const bool experts : {false, true}) {
        const Ownership of = ownership(plan, class_of_bucket(experts));
        owned += share(plan.mesh(), of, of.states, stage.counts.trained_of(experts));
    }
    return owned;
}

BufferId exchange_embedding_gradients(const Plan& plan, const ModelBlocks& blocks, const Stage& stage, Builder& builder,
                                      Intern& intern, BufferId gradients) {
    const Ownership words = ownership(plan, ParameterClass::embedding);
    const bool first = stage.index == 0, last = stage.index + 1 == plan.strategy.pipeline;
    if (plan.training.lora_rank > 0) return gradients;  // words are frozen
    if (moves(plan.mesh(), words.gradients, words.states, {Axis::pipeline}).empty() || !(first || last))
        return gradients;
    const Dtype dtype = plan.training.precision.grad_reduce;
    // It follows the rank's own gradient reduction, of what the rank then has. A ring all-reduce between two ranks
    // moves the whole vector once in each direction. Shares are priced alone.
    const bool shares = divides_gradients(plan.strategy.sharding);
    const std::uint64_t numbers = shares ? share(plan.mesh(), words, words.states, blocks.word_embedding_parameters)
                                         : blocks.word_embedding_parameters;
    const std::uint64_t bytes = numbers * kernels::size_of(dtype);
    const std::int32_t delta = first ? -1 : 1;
    const Label label = intern.label("embedding gradient exchange", Phase::gradient);
    const BufferId sent = builder.buffer(0, Keep::scratch), received = builder.buffer(bytes, Keep::scratch);
    builder.emit(first ? Lane::recv_forward : Lane::recv_backward, label, Recv{Axis::pipeline, delta, bytes},
                 {gradients}, {received});
    const auto takes = [&](std::vector<StateView> operands) {
        builder.state(shares ? StateDetail{} : StateDetail{.operands = std::move(operands)});
    };
    takes({{State::received_words}});
    builder.emit(first ? Lane::send_backward : Lane::send_forward, label, Send{Axis::pipeline, delta, bytes},
                 {gradients}, {sent});
    constexpr StateView own{State::gradients, Portion::words};
    takes({own});
    const BufferId summed = builder.buffer(0, Keep::scratch);
    builder.emit(Lane::compute, intern.label("embedding gradient sum", Phase::gradient),
                 intern.kernel(Pointwise{PointwiseKind::add, dtype, 1, numbers}), {received, sent, gradients},
                 {summed});
    takes({own, {State::received_words}, own});
    return summed;
}

StageState stage_state(const Plan& plan, const ModelBlocks& blocks, const Stage& stage,
                       const GradientBuckets& buckets) {
    const Mesh mesh = plan.mesh();
    const Ownership dense = ownership(plan, ParameterClass::dense), experts = ownership(plan, ParameterClass::expert);
    StageState state{.weight = kernels::format_of(optimizer_copy(plan)),
                     .gradient = kernels::format_of(in_memory(plan.training.precision.grad_reduce)),
                     .sharing_experts = mesh.group_size(experts.states.split(experts.replicas)),
                     .sharing = mesh.group_size(dense.states.split(dense.replicas)),
                     .replicated = stage.counts.replicated,
                     .words = blocks.word_embedding_parameters,
                     .versions = schedule_of(plan.strategy.schedule).versions(plan.pipeline_shape(), stage.index)};
    const std::vector<std::uint64_t> parts = offloaded_of_buckets(plan, owned_parameters(plan, stage), buckets);
    for (const GradientBucket& bucket : buckets.buckets) {
        const Ownership& of = bucket.experts ? experts : dense;
        const std::uint64_t on_host = parts[state.buckets.size()];
        state.buckets.push_back({bucket.parameters, share(mesh, of, of.gradients, bucket.parameters),
                                 share(mesh, of, of.weights, bucket.parameters), bucket.experts, on_host});
    }
    for (const auto& chunk : stage.chunks)
        for (const PlacedLayer& placed : chunk) {
            const LayerBlocks& layer = *placed.blocks;
            state.layers.push_back({placed.layer, layer.counts.of(false), layer.counts.of(true)});
            for (const NarrowWeight& weight : layer.narrow)
                if (weight.parameter) state.narrow.push_back({placed.layer, *weight.parameter, weight.elements()});
        }
    return state;
}

namespace {

/// What is found of all gradients is found in 16 bits.
void emit_groups(const Plan& plan, const Stage& stage, std::uint64_t owned, Builder& builder, Intern& intern,
                 std::span<const BufferId> gradients) {
    const Dtype sums = plan.training.precision.grad_reduce;
    Updates out(builder, intern, true);
    std::span<const BufferId> first = gradients;
    if (plan.training.scales_loss()) {
        out.kernel("unscale and check", PointwiseKind::scale, sums, owned, {}, first);
        out.agree("overflow check", agree_on_gradients(plan), {});
        first = Updates::none;
    }
    if (plan.training.grad_clip > 0) {
        out.kernel("gradient norm", PointwiseKind::sum_of_squares, sums, owned, {}, first);
        out.agree("gradient norm", agree_on_gradients(plan), {});
        first = Updates::none;
    }
    count_zeros(plan, stage, owned, out, first);
    const BufferId updated = builder.buffer(0, Keep::scratch);
    update_in_groups(plan, owned, first, builder, out, updated);
    const BufferId cast = cast_weights(plan, stage, builder, out, updated);
    if (!plan.strategy.overlap_param_gather) gather_weights(plan, stage, builder, intern, std::span(&cast, 1));
}

/// How sums of gradients come to the update.
struct Sums {
    std::vector<BufferId> copies = {};  ///< in fp32, of sums in 16 bits
    bool waited = false;                ///< what brought them there waits for them; else the first kernel behind does
};

/// Copies of 16-bit sums in fp32, or fp32 ones scaled where neither Adam nor the loss is divided by the micro-batches.
Sums bring_to_fp32(const Plan& plan, std::uint64_t owned, std::uint64_t here, Builder& builder, Updates& out,
                   std::span<const BufferId> gradients) {
    const Training& training = plan.training;
    const Dtype reduced = training.precision.grad_reduce;
    const bool copied = kernels::size_of(reduced) == 2 && training.master_weights;
    const bool scaled = !copied && !scale_in_adam(plan) && training.master_weights;
    Sums sums{.waited = copied || scaled};
    const bool divided = here < owned;
    const StateView main = on_device(State::main_gradients, Portion::updated, divided);
    const kernels::Settings scaling{.scale_factor = mean_of_micro_batches(plan)};
    if (copied) {
        if (here > 0 && !keeps_gradient_copies(plan))
            sums.copies.push_back(builder.buffer(here * state_bytes(training).gradient_copy, Keep::gradient,
                                                 {.span = Lifetime::Span::use}));
        out.kernel("gradients to fp32", PointwiseKind::cast, reduced, here,
                   {.operands = {on_device(State::gradients, Portion::updated, divided), main}, .settings = scaling},
                   gradients, sums.copies);
    } else if (scaled) {
        out.kernel("gradient scaling", PointwiseKind::scale, Dtype::fp32, here,
                   {.operands = {main, main}, .settings = scaling}, gradients);
    }
    return sums;
}

/// Those of the device. update: their version, where several are kept.
void update_weights(const Plan& plan, const Stage& stage, std::uint64_t owned, std::uint64_t here, std::uint32_t update,
                    Updates& out, std::span<const BufferId> reads, BufferId updated) {
    if (!is_fused_adam(plan.training)) return update_priced(plan, stage, owned, out, reads, std::span(&updated, 1));
    const auto updated_here = [&](State state) { return on_device(state, Portion::updated, here < owned); };
    StateView weights = updated_here(State::weights);
    if (schedule_of(plan.strategy.schedule).versions(plan.pipeline_shape(), stage.index) > 1) weights.version = update;
    out.kernel("adam", PointwiseKind::adam, optimizer_copy(plan), here,
               {.operands = {updated_here(State::main_gradients), updated_here(State::masters),
                             updated_here(State::first_moments), updated_here(State::second_moments), weights},
                .settings = {.scale_factor = scale_in_adam(plan)},
                .most_norm = adam_scales(plan) ? plan.training.grad_clip : 0},
               reads, std::span(&updated, 1));
}

}  // namespace

void emit_optimizer(const Plan& plan, const Stage& stage, Builder& builder, Intern& intern,
                    std::span<const BufferId> gradients, OptimizerOffload* host, std::uint32_t update) {
    const std::uint64_t owned = owned_parameters(plan, stage), here = owned - offloaded(plan, owned);
    Updates out(builder, intern, here < owned);
    if (applies_in_groups(plan)) return emit_groups(plan, stage, owned, builder, intern, gradients);
    const Sums sums = bring_to_fp32(plan, owned, here, builder, out, gradients);
    // Where nothing waited for the sums, each that may be the first behind them does.
    const auto first = here == 0 || !sums.waited ? gradients : Updates::none;
    if (plan.training.scales_loss()) check_overflow(plan, owned, here, out, first);
    clip_gradients(plan, stage, owned, here, out, first);
    count_zeros(plan, stage, owned, out, first);
    if (plan.compresses()) return emit_compressed_update(plan, owned, builder, intern);
    const std::uint64_t leaving = plan.offloads_weights() ? here : 0;
    const BufferId updated = leaving > 0 ? builder.buffer(leaving * state_bytes(plan.training).weight, Keep::weight,
                                                          {.span = Lifetime::Span::use})
                                         : builder.buffer(0, Keep::scratch);
    std::vector<BufferId> read = sums.copies;
    if (!sums.waited || plan.gradients_come_and_go()) read.insert(read.end(), gradients.begin(), gradients.end());
    update_weights(plan, stage, owned, here, update, out, read, updated);
    if (leaving > 0) updated_weights_leave(plan, leaving, updated, builder, intern);
    std::vector<BufferId> there;
    if (host != nullptr) there = host->update(gradients);
    there.insert(there.begin(), cast_weights(plan, stage, builder, out, updated));
    if (!plan.strategy.overlap_param_gather) gather_weights(plan, stage, builder, intern, there);
}

}  // namespace orrery::strategies
