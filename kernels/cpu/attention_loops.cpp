#include <algorithm>
#include <cmath>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/vector_math.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED float largest_of(const float* x, std::size_t count, float least) {
    float largest = least;
#pragma omp simd reduction(max : largest)
    for (std::size_t i = 0; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
    return largest;
}

/// x becomes exp(x - offset); returns the sum.
ORRERY_CLONED float exponentials(float* x, std::size_t count, float offset) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < count; ++i) {
        x[i] = exp_of(x[i] - offset);
        total += x[i];
    }
    return total;
}

ORRERY_CLONED void multiply_by(float* __restrict x, const float* __restrict factors, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) x[i] *= factors[i];
}

ORRERY_CLONED void multiply_row(float* x, std::size_t count, float factor) {
    for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
}

ORRERY_CLONED float dot(const float* one, const float* two, std::size_t count) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (std::size_t i = 0; i < count; ++i) total += one[i] * two[i];
    return total;
}

ORRERY_CLONED void gradient_row(float* __restrict p, float* __restrict gradient, std::size_t count, float lse,
                                float delta) {
    for (std::size_t i = 0; i < count; ++i) {
        p[i] = exp_of(p[i] - lse);
        gradient[i] = p[i] * (gradient[i] - delta);
    }
}

/// Zeroes what a row does not see.
void blank(float* row, std::size_t begin, std::size_t end, std::size_t keys) {
    std::fill(row, row + std::min(begin, keys), 0.0f);
    std::fill(row + std::max(begin, end), row + keys, 0.0f);
}

}  // namespace

void add_biases(const ScoreBlock& block, const Biases& biases) {
    if (biases.values == nullptr) return;
    for (std::size_t i = 0; i < block.queries; ++i)
        for (std::size_t j = block.begin(i); j < block.end(i); ++j)
            block.scores[i * block.stride + j] += biases.values[biases.at(block, i, j)];
}

void bias_gradients(const ScoreBlock& block, const float* gradients, const Biases& biases, float* to) {
    for (std::size_t i = 0; i < block.queries; ++i)
        for (std::size_t j = block.begin(i); j < block.end(i); ++j)
            to[biases.at(block, i, j)] += gradients[i * block.stride + j];
}

Dropped::Dropped(const Settings& settings) {
    if (settings.dropout && settings.dropout->probability > 0) numbers_.emplace(*settings.dropout);
}

void Dropped::draw(const ScoreBlock& block, std::size_t head, float* factors) const {
    const Attention& a = *block.attention;
    for (std::size_t i = 0; i < block.queries; ++i) {
        const std::size_t begin = block.begin(i), end = block.end(i);
        const std::uint64_t row = (std::uint64_t{head} * a.seq + block.first_query + i) * a.keys();
        if (begin < end)
            draw_factors(*numbers_, row + block.first_key + begin, end - begin, factors + i * block.stride + begin);
    }
}

void drop(const ScoreBlock& block, const float* factors, float* values) {
    for (std::size_t i = 0; i < block.queries; ++i) {
        const std::size_t begin = block.begin(i), end = block.end(i), at = i * block.stride + begin;
        if (begin < end) multiply_by(values + at, factors + at, end - begin);
    }
}

BiasGradients::BiasGradients(const Attention& a, const Settings& settings)
    : to_(settings.position_bias.gradient), format_(format_of(a.dtype)) {
    if (to_ == nullptr) return;
    elements_ = std::size_t{a.seq} * a.keys() * a.heads;
    sums_.resize(a.batch * elements_);
}

float* BiasGradients::of(std::size_t batch) { return sums_.empty() ? nullptr : sums_.data() + batch * elements_; }

void BiasGradients::finish() const {
    if (sums_.empty()) return;
    std::vector<float> total(elements_);
    load(format_, to_, 0, total.data(), elements_);
    for (std::size_t i = 0; i < sums_.size(); ++i) total[i % elements_] += sums_[i];
    store(format_, total.data(), to_, 0, elements_);
}

void absorb(const ScoreBlock& block, float* largest, float* total, float* o, std::size_t o_stride,
            std::size_t head_dim) {
    for (std::size_t i = 0; i < block.queries; ++i) {
        float* const row = block.scores + i * block.stride;
        const std::size_t begin = block.begin(i), end = block.end(i);
        if (begin < end) {
            const bool first = block.begins(i);
            const float before = first ? row[begin] : largest[i];
            const float now = largest_of(row + begin, end - begin, before);
            const float sum = exponentials(row + begin, end - begin, now);
            const float kept = first ? 0.0f : exp_of(before - now);
            if (!first && kept != 1.0f) multiply_row(o + i * o_stride, head_dim, kept);
            total[i] = sum + (first ? 0.0f : total[i] * kept);
            largest[i] = now;
        }
        blank(row, begin, end, block.keys);
    }
}

void finish_rows(std::size_t queries, const float* largest, const float* total, float* o, std::size_t o_stride,
                 std::size_t head_dim, float* lse) {
    for (std::size_t i = 0; i < queries; ++i) {
        multiply_row(o + i * o_stride, head_dim, 1.0f / total[i]);
        lse[i] = largest[i] + std::log(total[i]);
    }
}

void score_gradients(const ScoreBlock& block, float* gradients, const float* lse, const float* delta) {
    for (std::size_t i = 0; i < block.queries; ++i) {
        float *const p = block.scores + i * block.stride, *const gradient = gradients + i * block.stride;
        const std::size_t begin = block.begin(i), end = block.end(i);
        if (begin < end) gradient_row(p + begin, gradient + begin, end - begin, lse[i], delta[i]);
        blank(p, begin, end, block.keys);
        blank(gradient, begin, end, block.keys);
    }
}

void row_products(const float* one, const float* two, std::size_t stride, std::size_t rows, std::size_t head_dim,
                  float* delta) {
    for (std::size_t i = 0; i < rows; ++i) delta[i] = dot(one + i * stride, two + i * stride, head_dim);
}

}  // namespace orrery::kernels::cpu
