#include "kernels/cuda/pointwise.hpp"

#include <array>
#include <limits>

#include "kernels/cuda/embedding.hpp"
#include "kernels/cuda/norms.hpp"
#include "kernels/cuda/reductions.hpp"
#include "kernels/kind_table.hpp"

namespace orrery::kernels::cuda {

namespace {

using Launch = void (*)(const Place&, const Pointwise&, Operands);
using enum PointwiseKind;

struct Entry {
    PointwiseKind kind;
    Launch launch;
};

// One line a kernel, in the order of PointwiseKind.
constexpr std::array<Entry, pointwise_kinds> table{{
    {layernorm, launch_norm},
    {layernorm_backward, launch_norm_backward},
    {rmsnorm, launch_norm},
    {rmsnorm_backward, launch_norm_backward},
    {softmax, launch_softmax},
    {softmax_backward, launch_softmax},
    {log_add_exp, launch_softmax_merge},
    {softmax_merge, launch_softmax_merge},
    {gelu, launch_activation},
    {gelu_backward, launch_activation},
    {swiglu, launch_activation},
    {swiglu_backward, launch_activation},
    {relu, launch_activation},
    {relu_backward, launch_activation},
    {dropout, launch_dropout},
    {dropout_backward, launch_dropout},
    {bias_dropout_add, launch_dropout},
    {bias_dropout_add_backward, launch_dropout},
    {add, launch_elementwise},
    {scale, launch_elementwise},
    {rope, launch_rope},
    {rope_backward, launch_rope},
    {embedding, launch_embedding},
    {embedding_backward, launch_embedding},
    {cross_entropy, launch_cross_entropy},
    {cross_entropy_backward, launch_cross_entropy},
    {cross_entropy_maximum, launch_cross_entropy_part},
    {cross_entropy_part, launch_cross_entropy_part},
    {cross_entropy_part_backward, launch_cross_entropy_part},
    {bias_gradient, launch_bias_gradient},
    {transpose, launch_transpose},
    {cast, launch_elementwise},
    {fill, launch_elementwise},
    {moe_gate, launch_moe},
    {permute, launch_moe},
    {unpermute, launch_moe},
    {adam, launch_adam},
    {sum_of_squares, launch_sum_of_squares},
}};

static_assert(by_kind(table), "the table follows the order of PointwiseKind");

}  // namespace

bool supports(const Pointwise& p) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - 65536;  // columns are 32-bit in kernels
    const bool counted = p.kind != embedding_backward || p.rows <= most;
    return p.dtype != Dtype::fp8 && p.dtype != Dtype::fp4 && p.cols <= most && counted;
}

std::uint64_t scratch_bytes(const Pointwise& p, const Settings& settings, std::uint32_t multiprocessors) {
    switch (p.kind) {
        case layernorm_backward:
        case rmsnorm_backward: return norm_backward_scratch(p, multiprocessors);
        case embedding_backward: return EmbeddingScratch::bytes(table_rows(p, settings), p.rows);
        case bias_gradient: return column_scratch(p, multiprocessors);
        default: return least_scratch;  // sum_of_squares keeps one number a block
    }
}

void launch_pointwise(const Place& place, const Pointwise& kernel, Operands operands) {
    table[static_cast<std::size_t>(kernel.kind)].launch(place, kernel, operands);
}

}  // namespace orrery::kernels::cuda
