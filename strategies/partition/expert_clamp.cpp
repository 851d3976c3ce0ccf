#include "strategies/partition/expert_clamp.hpp"

namespace orrery::strategies {

namespace {

using kernels::Dtype;
using kernels::Pointwise;
using kernels::PointwiseKind;

/// A kernel of PyTorch, by the kind that moves as many bytes.
void put(std::vector<Work>& list, const char* name, PointwiseKind kind, Dtype dtype, std::uint64_t rows,
         std::uint64_t width) {
    list.push_back({.name = name, .what = Pointwise{kind, dtype, rows, width}, .routed = true, .plain = true});
}

}  // namespace

bool clamps_apart(const Plan& plan, const models::Experts& op) {
    return op.gated && op.bias && plan.training.software == hardware::Software::transformer_engine;
}

void add_clamps(LayerStream& stream, const ExpertShapes& shapes, Piece& piece) {
    using enum PointwiseKind;
    constexpr Dtype mask = Dtype::fp8;  // a byte each
    const Dtype dtype = stream.element;
    const std::uint64_t rows = shapes.rows, half = shapes.ffn;
    std::vector<Work> clamps;
    put(clamps, "clamp gate", scale, dtype, rows, half);
    put(clamps, "clamp linear half", scale, dtype, rows, half);
    put(clamps, "join halves", scale, dtype, rows, 2 * half);
    piece.forward.insert(piece.forward.begin(), clamps.begin(), clamps.end());
    put(piece.backward, "compare gate", bias_gradient, dtype, rows, half);
    put(piece.backward, "clamp gate backward", dropout_backward, dtype, rows, half);
    put(piece.backward, "compare linear half below", bias_gradient, dtype, rows, half);
    put(piece.backward, "compare linear half above", bias_gradient, dtype, rows, half);
    put(piece.backward, "join masks", add, mask, rows, half);
    put(piece.backward, "clamp linear half backward", dropout_backward, dtype, rows, half);
    put(piece.backward, "join gradients of halves", scale, dtype, rows, 2 * half);
    piece.working_bytes += rows * 4 * half * kernels::size_of(dtype);  // halves apart, and joined
    stream.layer.flow.complete = false;
}

}  // namespace orrery::strategies
