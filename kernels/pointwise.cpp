#include <array>
#include <string>

#include "base/error.hpp"
#include "kernels/kind_table.hpp"
#include "kernels/pointwise_traffic.hpp"

namespace orrery::kernels {

namespace {

struct Entry {
    PointwiseKind kind;
    std::string_view name;
    Traffic traffic;
};

using enum PointwiseKind;

// One line a kernel: operand reads, operand writes, fp32 reads + writes, mask bytes.
constexpr std::array<Entry, pointwise_kinds> table{{
    {layernorm, "layernorm", {1, 1, 0, 0}},
    {layernorm_backward, "layernorm-backward", {2, 1, 0, 0}},  // x, dy -> dx
    {rmsnorm, "rmsnorm", {1, 1, 0, 0}},
    {rmsnorm_backward, "rmsnorm-backward", {2, 1, 0, 0}},
    {softmax, "softmax", {1, 1, 0, 0}},
    {softmax_backward, "softmax-backward", {2, 1, 0, 0}},  // y, dy -> dx
    {log_add_exp, "log-add-exp", {0, 0, 3, 0}},            // in fp32 whatever the format
    {softmax_merge, "softmax-merge", {2, 1, 0, 0}},        // x, y -> y
    {gelu, "gelu", {1, 1, 0, 0}},
    {gelu_backward, "gelu-backward", {2, 1, 0, 0}},  // x, dy -> dx
    {swiglu, "swiglu", {2, 1, 0, 0}},                // gate, up -> y
    {swiglu_backward, "swiglu-backward", {3, 2, 0, 0}},
    {relu, "relu", {1, 1, 0, 0}},
    {relu_backward, "relu-backward", {2, 1, 0, 0}},  // y, dy -> dx
    {dropout, "dropout", {1, 1, 0, 1}},
    {dropout_backward, "dropout-backward", {1, 1, 0, 1}},
    {bias_dropout_add, "bias-dropout-add", {2, 1, 0, 1}},                    // x, residual -> y
    {bias_dropout_add_backward, "bias-dropout-add-backward", {1, 1, 0, 1}},  // dy -> dx; the residual's is dy itself
    {add, "add", {2, 1, 0, 0}},
    {scale, "scale", {1, 1, 0, 0}},
    {rope, "rope", {1, 1, 0, 0}},
    {rope_backward, "rope-backward", {1, 1, 0, 0}},
    {embedding, "embedding", {1, 1, 0, 0}},
    {embedding_backward, "embedding-backward", {2, 1, 0, 0}},  // dy, row -> row
    {cross_entropy, "cross-entropy", {1, 1, 0, 0}},
    {cross_entropy_backward, "cross-entropy-backward", {1, 1, 0, 0}},
    {cross_entropy_maximum, "cross-entropy-maximum", {1, 0, 0, 0}},
    {cross_entropy_part, "cross-entropy-part", {1, 1, 0, 0}},
    {cross_entropy_part_backward, "cross-entropy-part-backward", {1, 1, 0, 0}},
    {bias_gradient, "bias-gradient", {1, 0, 0, 0}},
    {transpose, "transpose", {1, 1, 0, 0}},
    {cast, "cast", {1, 0, 1, 0}},
    {fill, "fill", {0, 1, 0, 0}},
    {moe_gate, "moe-gate", {0, 0, 2, 0}},      // fp32 logits -> probabilities; the choice is a few bytes a row
    {permute, "permute", {0.5, 1, 0, 0}},      // each token read once for its two copies
    {unpermute, "unpermute", {1, 0.5, 0, 0}},  // two copies summed
    {adam, "adam", {0, 1, 7, 0}},              // reads w m v g, writes w m v (fp32) and the low-precision weight
    {sum_of_squares, "sum-of-squares", {1, 0, 0, 0}},
}};

static_assert(by_kind(table), "the table follows the order of PointwiseKind");

}  // namespace

std::string_view name(PointwiseKind kind) { return table[static_cast<std::size_t>(kind)].name; }

Traffic traffic(PointwiseKind kind) { return table[static_cast<std::size_t>(kind)].traffic; }

PointwiseKind pointwise_from(std::string_view text) {
    for (const auto& entry : table)
        if (entry.name == text) return entry.kind;
    throw Error("unknown memory-bound kernel \"" + std::string(text) + "\"", "kernels/pointwise.cpp lists the names");
}

}  // namespace orrery::kernels
