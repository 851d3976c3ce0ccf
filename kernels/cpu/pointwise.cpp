#include "kernels/cpu/pointwise.hpp"

#include <array>

#include "kernels/cpu/half.hpp"
#include "kernels/kind_table.hpp"

namespace orrery::kernels::cpu {

namespace {

struct Row {
    PointwiseKind kind;
    Run run;
    bool any_format = false;  ///< whether it takes bf16 itself
};

using enum PointwiseKind;

constexpr std::array<Row, pointwise_kinds> table{{
    {layernorm, run_layernorm},
    {layernorm_backward, run_layernorm_backward},
    {rmsnorm, run_rmsnorm},
    {rmsnorm_backward, run_rmsnorm_backward},
    {softmax, run_softmax},
    {softmax_backward, run_softmax_backward},
    {log_add_exp, run_log_add_exp, true},
    {softmax_merge, run_softmax_merge, true},
    {gelu, run_gelu},
    {gelu_backward, run_gelu_backward},
    {swiglu, run_swiglu},
    {swiglu_backward, run_swiglu_backward},
    {relu, run_relu},
    {relu_backward, run_relu_backward},
    {dropout, run_dropout},
    {dropout_backward, run_dropout_backward},
    {bias_dropout_add, run_bias_dropout_add},
    {bias_dropout_add_backward, run_dropout_backward},
    {add, run_add},
    {scale, run_scale},
    {rope, run_rope},
    {rope_backward, run_rope},
    {embedding, run_embedding, true},
    {embedding_backward, run_embedding_backward, true},
    {cross_entropy, run_cross_entropy},
    {cross_entropy_backward, run_cross_entropy_backward},
    {cross_entropy_maximum, run_cross_entropy_maximum},
    {cross_entropy_part, run_cross_entropy_part},
    {cross_entropy_part_backward, run_cross_entropy_part_backward},
    {bias_gradient, run_bias_gradient},
    {transpose, run_transpose, true},
    {cast, run_cast, true},
    {fill, run_fill, true},
    {moe_gate, run_moe_gate, true},
    {permute, run_permute, true},
    {unpermute, run_unpermute, true},
    {adam, run_adam, true},
    {sum_of_squares, run_sum_of_squares, true},
}};

static_assert(by_kind(table), "the table follows the order of PointwiseKind");

}  // namespace

void run_pointwise(const Pointwise& p, const Memory& memory) {
    const Row& row = table[static_cast<std::size_t>(p.kind)];
    p.dtype == Dtype::fp32 || row.any_format ? row.run(p, memory) : run_in_blocks(p, memory, row.run);
}

}  // namespace orrery::kernels::cpu
