// Kernels that address rows by a token's number, and those over a vocabulary or over experts.
#include "kernels/operands.hpp"
#include "kernels/reference/parts.hpp"

namespace orrery::kernels {

namespace {

std::uint64_t whole(const Values& values, std::uint64_t i) { return static_cast<std::uint64_t>(values[i]); }

double gate(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    const bool of_expert = operand == 1;
    const std::uint64_t row = index / (of_expert ? p.cols : moe_top_k), at = row * p.cols;
    const double lse = log_sum_exp(p.cols, [&](std::uint64_t c) { return v[0][at + c]; });
    const auto probability = [&](std::uint64_t c) { return std::exp(v[0][at + c] - lse); };
    if (of_expert) return probability(index % p.cols);
    std::uint64_t chosen[moe_top_k];
    for (std::uint64_t k = 0; k < moe_top_k; ++k) {
        std::uint64_t best = p.cols;
        for (std::uint64_t c = 0; c < p.cols; ++c) {
            if (std::find(chosen, chosen + k, c) != chosen + k) continue;
            if (best == p.cols || v[0][at + c] > v[0][at + best]) best = c;
        }
        chosen[k] = best;
    }
    const std::uint64_t own = chosen[index % moe_top_k];
    if (operand == 2) return static_cast<double>(own);
    return probability(own) / sum(moe_top_k, [&](std::uint64_t k) { return probability(chosen[k]); });
}

double cross_entropy(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    const std::uint64_t row = operand == 2 ? index / p.cols : index, at = row * p.cols;
    const double lse = log_sum_exp(p.cols, [&](std::uint64_t c) { return v[0][at + c]; });
    return operand == 2 ? std::exp(v[0][index] - lse) : lse - v[0][at + whole(v[1], row)];
}

/// One rank's part of the vocabulary: the row's largest logit; exponentials, their sum and the target's logit.
double part(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    if (p.kind == PointwiseKind::cross_entropy_maximum) {
        double largest = v[0][index * p.cols];
        for (std::uint64_t c = 1; c < p.cols; ++c) largest = std::max(largest, v[0][index * p.cols + c]);
        return largest;
    }
    if (operand == 3) return std::exp(v[0][index] - v[1][index / p.cols]);
    if (operand == 4)
        return sum(p.cols, [&](std::uint64_t c) { return std::exp(v[0][index * p.cols + c] - v[1][index]); });
    const double target = v[2][index];
    return target >= 0 && target < static_cast<double>(p.cols) ? v[0][index * p.cols + whole(v[2], index)] : 0.0;
}

}  // namespace

double reference_tokens(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index) {
    const std::uint64_t row = index / p.cols, c = index % p.cols;
    switch (p.kind) {
        using enum PointwiseKind;
        case embedding: return v[1][whole(v[0], row) * p.cols + c];
        case embedding_backward:
            return v[2][index] +
                   sum(p.rows, [&](std::uint64_t r) { return whole(v[0], r) == row ? v[1][r * p.cols + c] : 0.0; });
        case cross_entropy: return kernels::cross_entropy(p, v, operand, index);
        case cross_entropy_backward:
            return (v[0][index] - (whole(v[1], row) == c ? 1.0 : 0.0)) / static_cast<double>(p.rows);
        case cross_entropy_maximum:
        case cross_entropy_part: return part(p, v, operand, index);
        case cross_entropy_part_backward:
            return (v[0][index] / v[1][row] - (v[2][row] == static_cast<double>(c) ? 1.0 : 0.0)) /
                   static_cast<double>(p.rows);
        case moe_gate: return gate(p, v, operand, index);
        case permute: return v[0][whole(v[1], row) / moe_top_k * p.cols + c];
        default:  // unpermute
            return sum(moe_top_k, [&](std::uint64_t j) {
                const std::uint64_t copy = row * moe_top_k + j;
                return v[2][copy] * v[0][whole(v[1], copy) * p.cols + c];
            });
    }
}

}  // namespace orrery::kernels
