// The references of the classes of kernels: what reference() chooses among.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.hpp"

namespace orrery::kernels {

using Before = std::span<const Values>;

double reference_attention(const Attention& a, Before v, std::size_t operand, std::uint64_t index);
double reference_norm(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index);
double magnitude_attention(const Attention& a, Before v, std::size_t operand, std::uint64_t index);
double magnitude_norm(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index);
double reference_tokens(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index);
double reference_convolution(const Convolution& c, Before v, std::uint64_t index);
double reference_pooling(const Pooling& p, Before v, std::uint64_t index);
double reference_batch_norm(const BatchNorm& b, Before v, std::size_t operand, std::uint64_t index);
double reference_pointwise(const Pointwise& p, Before v, std::size_t operand, std::uint64_t index);

/// sum of f(0) ... f(count - 1).
template <class Function>
double sum(std::uint64_t count, Function f) {
    double total = 0;
    for (std::uint64_t i = 0; i < count; ++i) total += f(i);
    return total;
}

/// Root of the sum of the squares of f(0) ... f(count - 1).
template <class Function>
double root_of_squares(std::uint64_t count, Function f) {
    return std::sqrt(sum(count, [&](std::uint64_t i) {
        const double value = f(i);
        return value * value;
    }));
}

/// ln sum_i exp(f(i)), and so that exp(f(i) - it) is the softmax.
template <class Function>
double log_sum_exp(std::uint64_t count, Function f) {
    double largest = f(0);
    for (std::uint64_t i = 1; i < count; ++i) largest = std::max(largest, f(i));
    return largest + std::log(sum(count, [&](std::uint64_t i) { return std::exp(f(i) - largest); }));
}

}  // namespace orrery::kernels
