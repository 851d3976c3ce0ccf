#include "strategies/updates.hpp"

#include <array>
#include <utility>
#include <vector>

#include "strategies/dataflow.hpp"
#include "strategies/muon.hpp"
#include "strategies/ownership.hpp"
#include "strategies/partition/tensor.hpp"
#include "strategies/state_bytes.hpp"

namespace orrery::strategies {

using kernels::CollectiveKind;
using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

namespace {

/// A kernel of this kind reads one number and writes one.
std::uint64_t numbers_of_scale(double streams) { return static_cast<std::uint64_t>(streams / 2); }

/// Numbers of this format that move as many bytes.
double streams_of(const UpdateKernel& kernel, Dtype format) {
    return kernel.streams + kernel.bytes / kernels::size_of(format);
}

}  // namespace

void Updates::kernel(const std::string& name, PointwiseKind kind, Dtype dtype, std::uint64_t parameters,
                     StateDetail state, std::span<const BufferId> reads, std::span<const BufferId> writes) {
    if (divided_ && parameters == 0) return;
    builder_.emit(Lane::compute, intern_.label(name, Phase::optimizer),
                  What{intern_.kernel(Pointwise{kind, dtype, 1, parameters})}, reads, writes);
    builder_.state(std::move(state));
}

void Updates::agree(const std::string& name, AxisSet group, StateDetail state) {
    const BufferId number = builder_.buffer(4, Keep::scratch);
    builder_.emit(Lane::compute, intern_.label(name, Phase::optimizer),
                  Collective{CollectiveKind::all_reduce, group, 4}, {}, {number});
    builder_.state(std::move(state));
    builder_.emit(Lane::compute, intern_.label(name + " on host", Phase::optimizer), HostSync{}, {number}, {});
}

void Updates::sum(const std::string& name, AxisSet group, std::uint64_t bytes) {
    builder_.emit(Lane::compute, intern_.label(name, Phase::optimizer),
                  What{Collective{CollectiveKind::all_reduce, group, bytes}}, none, none);
    builder_.state(StateDetail{});
}

void Updates::streams(const std::string& name, double streams, std::uint64_t numbers, std::span<const BufferId> reads,
                      std::span<const BufferId> writes) {
    kernel(name, PointwiseKind::scale, Dtype::fp32, numbers_of_scale(streams * static_cast<double>(numbers)), {}, reads,
           writes);
}

void Updates::product(const kernels::Gemm& gemm) {
    builder_.emit(Lane::compute, intern_.label("orthogonalize", Phase::optimizer), What{intern_.kernel(gemm)}, none,
                  none);
    builder_.state({});
}

void Updates::gather(const std::string& name, AxisSet group, std::uint64_t bytes) {
    builder_.emit(Lane::compute, intern_.label(name, Phase::optimizer),
                  What{Collective{CollectiveKind::all_gather, group, bytes}}, none, none);
    builder_.state({});
}

void Updates::by_parameter(std::uint64_t tensors, std::uint64_t owned, std::span<const UpdateKernel> kernels,
                           Dtype format, std::span<const BufferId> reads, std::span<const BufferId> writes) {
    const std::uint64_t launched = tensors * kernels.size();
    constexpr std::uint64_t at_once = hardware::plain_kernels_per_dispatch;
    const std::uint64_t dispatched = (launched + at_once - 1) / at_once;
    double streams = 0;
    for (const UpdateKernel& one : kernels) streams += streams_of(one, format);
    for (std::uint64_t i = 0; i < dispatched; ++i)
        kernel(kernels.back().name, PointwiseKind::scale, format,
               numbers_of_scale(streams * static_cast<double>(owned) / static_cast<double>(dispatched)), {},
               i == 0 || i + 1 == dispatched ? reads : none, i + 1 == dispatched ? writes : none);
}

void Updates::foreach (std::uint64_t owned, std::span<const UpdateKernel> kernels, Dtype format,
                       std::span<const BufferId> reads, std::span<const BufferId> writes) {
    const std::array result{builder_.buffer(owned * kernels::size_of(format), Keep::scratch)};
    for (const UpdateKernel& one : kernels) {
        const bool last = &one == &kernels.back();
        std::vector<BufferId> written(result.begin(), result.end());
        if (last) written.insert(written.end(), writes.begin(), writes.end());
        kernel(one.name, PointwiseKind::scale, format,
               numbers_of_scale(streams_of(one, format) * static_cast<double>(owned)), {},
               last || &one == &kernels.front() ? reads : none, written);
    }
}

std::uint64_t owned_tensors(const Stage& stage, std::uint64_t owned) {
    return owned == 0 ? 0 : (stage.tensors * owned + stage.counts.trained - 1) / stage.counts.trained;
}

Dtype optimizer_copy(const Plan& plan) {
    return plan.training.autocast ? Dtype::fp32 : in_memory(activation_dtype(plan));
}

namespace {

/// Norms of parameters of which ranks hold parts: of each its own and its step's.
void agree_on_norms(const Plan& plan, const Stage& stage, Updates& out) {
    const AxisSet parts = updates_differ(plan).without(Axis::pipeline);
    if (plan.mesh().group_size(parts) > 1) out.sum("norms of parameters", parts, std::uint64_t{8} * stage.tensors);
}

}  // namespace

/// 16-bit weights are copied from the masters behind the update (Megatron-LM, core/optimizer/optimizer.py,
/// _copy_main_params_to_model_params).
void update_priced(const Plan& plan, const Stage& stage, std::uint64_t owned, Updates& out,
                   std::span<const BufferId> copies, std::span<const BufferId> updated) {
    const OptimizerRow& row = row_of(plan.training.optimizer);
    const Dtype copy = optimizer_copy(plan);
    const bool narrow = copy != Dtype::fp32 && plan.training.master_weights;
    const Dtype format = updated_format(plan.training);
    const auto last = narrow ? Updates::none : updated;
    if (row.norms) agree_on_norms(plan, stage, out);
    if (row.optimizer == Optimizer::muon)
        update_by_muon(plan, stage, out, copies, last);
    else if (!plan.training.fused_optimizer && plan.training.foreach_optimizer)
        out.foreach (owned, row.by_parameter, format, copies, last);
    else if (!plan.training.fused_optimizer)
        out.by_parameter(owned_tensors(stage, owned), owned, row.by_parameter, format, copies, last);
    else
        for (const UpdateKernel& kernel : row.fused)
            out.kernel(kernel.name, PointwiseKind::scale, format,
                       numbers_of_scale(streams_of(kernel, format) * static_cast<double>(owned)), {},
                       &kernel == &row.fused.front() ? copies : Updates::none,
                       &kernel == &row.fused.back() ? last : Updates::none);
    if (narrow) out.kernel("weights to 16 bits", PointwiseKind::cast, copy, owned, {}, Updates::none, updated);
}

}  // namespace orrery::strategies
