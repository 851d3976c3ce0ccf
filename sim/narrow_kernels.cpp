#include "sim/narrow_kernels.hpp"

#include <optional>

#include "hardware/compute_capability.hpp"
#include "hardware/narrow_attention.hpp"
#include "hardware/narrow_formats.hpp"

namespace orrery::sim {

namespace {

using kernels::Dtype;
using kernels::PointwiseKind;

/// Nothing where blocks are of another shape (128 x 128), of which there is no reading; Blackwell has no products of
/// such, and Transformer Engine runs them as MXFP8's (convert_block_scaling_to_mxfp8_tensor).
std::optional<hardware::Scales> scales_of(const strategies::Training& training, int compute_capability) {
    using hardware::Scales;
    if (training.precision.compute == Dtype::fp4) return Scales::nvfp4;
    if (training.precision.compute != Dtype::fp8) return std::nullopt;
    switch (training.fp8_recipe) {
        case strategies::Fp8Recipe::delayed: return Scales::delayed;
        case strategies::Fp8Recipe::tensorwise: return Scales::current;
        case strategies::Fp8Recipe::mxfp8: return Scales::mxfp8;
        case strategies::Fp8Recipe::blockwise: break;
    }
    return hardware::is_blackwell(compute_capability) ? std::optional(Scales::mxfp8) : std::nullopt;
}

bool is_narrow_product(const kernels::Kernel& kernel) {
    const auto* product = std::get_if<kernels::Gemm>(&kernel);
    return product != nullptr && kernels::is_narrow(product->dtype);
}

double of_pass(const hardware::NarrowTimes& times, kernels::GemmPass pass) {
    switch (pass) {
        case kernels::GemmPass::forward: return times.forward;
        case kernels::GemmPass::data_gradient: return times.data_gradient;
        case kernels::GemmPass::weight_gradient: break;
    }
    return times.weight_gradient;
}

/// Maxima are sums of squares of 16-bit rows; the optimizer's norm is one of all gradients in a row.
bool casts_operand(const kernels::Kernel& kernel) {
    const auto* pointwise = std::get_if<kernels::Pointwise>(&kernel);
    return pointwise != nullptr && pointwise->dtype == Dtype::bf16 && pointwise->rows > 1 &&
           (pointwise->kind == PointwiseKind::transpose || pointwise->kind == PointwiseKind::sum_of_squares);
}

hardware::AttentionHeads heads_of(const kernels::Attention& kernel, const strategies::Plan& plan) {
    using enum hardware::AttentionHeads;
    constexpr std::uint32_t widest_of_grouped = 128;
    if (kernel.window > 0) return windowed;
    return plan.model.kv_lora_rank > 0 || kernel.head_dim > widest_of_grouped ? latent : grouped;
}

double of_attention(const kernels::Attention& kernel, const strategies::Plan& plan, int compute_capability) {
    return 1 / hardware::narrow_attention_rate(heads_of(kernel, plan), kernel.backward, kernel.seq, compute_capability);
}

}  // namespace

double narrow_seconds_share(const kernels::Kernel& kernel, const strategies::Plan& plan, int compute_capability) {
    if (const auto* attention = std::get_if<kernels::Attention>(&kernel))
        return plan.training.fp8_attention ? of_attention(*attention, plan, compute_capability) : 1;
    const auto scales = scales_of(plan.training, compute_capability);
    if (!scales || plan.training.software != hardware::Software::transformer_engine) return 1;
    const hardware::NarrowTimes times = hardware::narrow_times(*scales, compute_capability);
    if (is_narrow_product(kernel)) return of_pass(times, std::get<kernels::Gemm>(kernel).pass);
    return casts_operand(kernel) ? times.cast : 1;
}

}  // namespace orrery::sim
