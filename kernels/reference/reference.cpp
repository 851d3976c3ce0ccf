#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/overloaded.hpp"
#include "kernels/operands.hpp"
#include "kernels/reference/parts.hpp"

namespace orrery::kernels {

namespace {

double reference_gemm(const Gemm& g, Before v, std::uint64_t index) {
    const std::uint64_t m = g.m, n = g.n, k = g.k;
    const std::uint64_t batch = index / (m * n), row = index / n % m, col = index % n;
    const bool a_is_k_by_m = g.pass == GemmPass::weight_gradient, b_is_n_by_k = g.pass == GemmPass::forward;
    return sum(k, [&](std::uint64_t i) {
        const std::uint64_t a = batch * m * k + (a_is_k_by_m ? i * m + row : row * k + i);
        const std::uint64_t b = batch * k * n + (b_is_n_by_k ? col * k + i : i * n + col);
        return v[0][a] * v[1][b];
    });
}

std::uint64_t terms_pointwise(const Pointwise& p, std::size_t operand) {
    switch (p.kind) {
        using enum PointwiseKind;
        case layernorm:
        case rmsnorm:
        case softmax:
        case softmax_backward:
        case cross_entropy:
        case moe_gate: return p.cols;
        case layernorm_backward: return operand == 5 ? p.cols : p.rows;
        case rmsnorm_backward: return operand == 4 ? p.cols : p.rows;
        case cross_entropy_part: return operand == 4 ? p.cols : 1;
        case bias_gradient:
        case embedding_backward: return p.rows;
        case sum_of_squares: return p.rows * p.cols;
        default: return 1;
    }
}

/// Products summed into one element.
std::uint64_t terms_convolution(const Convolution& c) {
    const std::uint64_t window = std::uint64_t{c.kernel_rows} * c.kernel_columns;
    switch (c.pass) {
        case GemmPass::forward: return window * (c.channels / c.groups);
        case GemmPass::data_gradient: return window * (c.outputs / c.groups);
        case GemmPass::weight_gradient: return std::uint64_t{c.batch} * c.output_rows() * c.output_columns();
    }
    return 1;
}

}  // namespace

double reference(const Kernel& kernel, Before before, std::size_t operand, std::uint64_t index) {
    return std::visit(Overloaded{[&](const Gemm& g) { return reference_gemm(g, before, index); },
                                 [&](const Attention& a) { return reference_attention(a, before, operand, index); },
                                 [&](const Pointwise& p) { return reference_pointwise(p, before, operand, index); },
                                 [&](const Convolution& c) { return reference_convolution(c, before, index); },
                                 [&](const Pooling& p) { return reference_pooling(p, before, index); },
                                 [&](const BatchNorm& b) { return reference_batch_norm(b, before, operand, index); },
                                 [](const StateSpace&) -> double { throw std::logic_error("a scan has no operands"); }},
                      kernel);
}

double magnitude(const Kernel& kernel, Before before, std::size_t operand, std::uint64_t index) {
    if (const auto* attention = std::get_if<Attention>(&kernel))
        return magnitude_attention(*attention, before, operand, index);
    const auto* const p = std::get_if<Pointwise>(&kernel);
    const bool norm =
        p != nullptr && (p->kind == PointwiseKind::layernorm_backward || p->kind == PointwiseKind::rmsnorm_backward);
    return norm ? magnitude_norm(*p, before, operand, index) : 0.0;
}

std::uint64_t terms(const Kernel& kernel, std::size_t operand) {
    return std::visit(Overloaded{[](const Gemm& g) { return std::uint64_t{g.k}; },
                                 [](const Attention& a) {
                                     // dk and dv sum over the query heads that share them.
                                     return std::uint64_t{std::max(a.seq, a.keys())} *
                                            (a.backward ? a.heads / a.kv_heads : 1);
                                 },
                                 [operand](const Pointwise& p) { return terms_pointwise(p, operand); },
                                 [](const Convolution& c) { return terms_convolution(c); },
                                 [](const Pooling& p) { return std::uint64_t{p.window_rows} * p.window_columns; },
                                 [](const BatchNorm& b) { return b.rows; },
                                 [](const StateSpace& s) { return std::uint64_t{s.state}; }},
                      kernel);
}

}  // namespace orrery::kernels
