// Runs of memory-bound kernels that several operators have: passes of a framework that fuses nothing, dropouts, and
// what casts an operand of a narrow product.
#include "strategies/narrow_weights.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

using kernels::Dtype;
using kernels::PointwiseKind;

void add_passes(std::vector<Work>& list, const std::string& name, const Cells& over, int unary, int binary) {
    for (int i = 0; i < unary; ++i) list.push_back({name, over.by(PointwiseKind::scale)});
    for (int i = 0; i < binary; ++i) list.push_back({name, over.by(PointwiseKind::add)});
}

void add_quantisation(const Plan& plan, std::vector<Work>& list, std::uint64_t rows, std::uint64_t cols, bool routed) {
    const auto over = [&](PointwiseKind kind) { return kernels::Pointwise{kind, Dtype::bf16, rows, cols}; };
    if (reads_maximum_first(plan))
        list.push_back({.name = "amax", .what = over(PointwiseKind::sum_of_squares), .routed = routed});
    // Of NVFP4 the transform and both casts are one kernel.
    list.push_back({.name = "quantise", .what = over(PointwiseKind::transpose), .routed = routed});
}

void add_transposed_weight(std::vector<Work>& list, const Plan& plan, std::uint64_t rows, std::uint64_t cols) {
    if (const auto transpose = transpose_in_backward(plan, rows, cols))
        list.push_back({.name = "transpose weight", .what = *transpose});
}

std::uint64_t narrow_bytes(Dtype format, std::uint64_t elements) {
    return format == Dtype::fp4 ? elements / 2 + elements / 16 : elements;
}

bool keeps_casts(const Plan& plan) {
    return is_narrow(plan.training.precision.compute) && keeps_what_it_casts(plan.training.software);
}

std::uint64_t kept_input_bytes(const Plan& plan, std::uint64_t elements, bool results) {
    const bool cast = results ? keeps_casts_of_results(plan) : keeps_casts(plan);
    return cast ? narrow_bytes(plan.training.precision.compute, elements)
                : elements * kernels::size_of(activation_dtype(plan));
}

bool keeps_casts_of_results(const Plan& plan) {
    return keeps_casts(plan) && plan.training.precision.compute == Dtype::fp8 &&
           (plan.training.fp8_recipe == Fp8Recipe::delayed || plan.training.software == hardware::Software::orrery);
}

bool attention_keeps_results(const Plan& plan) {
    return keeps_casts_of_results(plan) && plan.training.fused_attention && !exchanges_heads(plan);
}

bool exchanges_heads(const Plan& plan) {
    const ContextExchange how = plan.strategy.context_exchange;
    return plan.strategy.context > 1 && (how == ContextExchange::a2a || how == ContextExchange::a2a_p2p);
}

bool runs_attention_again(const Plan& plan) { return plan.strategy.again().modules.has(Module::core_attn); }

void add_dropout(const LayerStream& stream, Piece& piece, const std::string& name, const Cells& over) {
    if (stream.plan.training.kernel_fusion != KernelFusion::primitives) {
        piece.forward.push_back({name, over.by(PointwiseKind::dropout)});
        piece.backward.push_back({name + " backward", over.by(PointwiseKind::dropout_backward)});
        return;
    }
    const Cells numbers{Dtype::fp32, over.rows, over.cols};
    piece.forward.push_back({name + " numbers", numbers.by(PointwiseKind::fill)});
    add_passes(piece.forward, name, over, 2, 1);
    add_passes(piece.backward, name + " backward", over, 1, 1);
}

void add_casts(const LayerStream& stream, Piece& piece, const Cells& cells) {
    const bool widens = cells.element != stream.element;
    if (!widens || stream.plan.training.kernel_fusion != KernelFusion::primitives) return;
    const auto cast = stream.pointwise(PointwiseKind::cast, cells.rows, cells.cols);
    piece.forward.push_back({piece.name + " cast", cast});
    piece.backward.push_back({piece.name + " backward cast", cast});
}

}  // namespace orrery::strategies
