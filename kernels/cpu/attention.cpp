#include "kernels/cpu/attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/gemm.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"

namespace orrery::kernels::cpu {

namespace {

/// Blocks of scores: 128 x 256 fp32 is 128 KiB, which a second level of cache holds twice.
constexpr std::size_t query_block = 128, key_block = 256;

/// From one token's keys or values to the next's.
std::size_t stride_of_keys(const Settings& settings, std::size_t contiguous) {
    if (settings.key_stride != 0) return settings.key_stride;
    return settings.row_stride != 0 ? settings.row_stride : contiguous;
}

/// Sizes and strides that both directions use.
struct Shape {
    /// o and do are always contiguous.
    Shape(const Attention& a, const Settings& settings)
        : attention(&a),
          bias(settings.position_bias),
          dropped(settings),
          seq(a.seq),
          key_seq(a.keys()),
          heads(a.heads),
          kv_heads(a.kv_heads),
          dim(a.head_dim),
          values(settings.value_dim != 0 ? settings.value_dim : dim),
          group(heads / kv_heads),
          q_stride(settings.row_stride != 0 ? settings.row_stride : heads * dim),
          dq_stride(settings.dq_stride != 0 ? settings.dq_stride : q_stride),
          k_stride(stride_of_keys(settings, kv_heads * dim)),
          v_stride(stride_of_keys(settings, kv_heads * values)),
          o_stride(heads * values),
          lse_stride(settings.lse_stride != 0 ? settings.lse_stride : seq),
          scale(1.0f / std::sqrt(static_cast<float>(a.head_dim))) {}

    [[nodiscard]] std::size_t query(std::size_t batch, std::size_t i, std::size_t head) const {
        return (batch * seq + i) * q_stride + head * dim;
    }
    [[nodiscard]] std::size_t output(std::size_t batch, std::size_t i, std::size_t head) const {
        return (batch * seq + i) * o_stride + head * values;
    }
    [[nodiscard]] std::size_t lse(std::size_t batch, std::size_t i, std::size_t head) const {
        return (batch * heads + head) * lse_stride + i;
    }
    [[nodiscard]] std::size_t key(std::size_t batch, std::size_t j, std::size_t kv_head) const {
        return (batch * key_seq + j) * k_stride + kv_head * dim;
    }
    [[nodiscard]] std::size_t value(std::size_t batch, std::size_t j, std::size_t kv_head) const {
        return (batch * key_seq + j) * v_stride + kv_head * values;
    }
    [[nodiscard]] Matrix queries(const float* data, bool transposed = false) const {
        return {data, static_cast<std::int64_t>(q_stride), transposed};
    }
    [[nodiscard]] Matrix outputs(const float* data) const { return {data, static_cast<std::int64_t>(o_stride), false}; }
    [[nodiscard]] Matrix keys(const float* data, bool transposed = false) const {
        return {data, static_cast<std::int64_t>(k_stride), transposed};
    }
    [[nodiscard]] Matrix columns_of_values(const float* data, bool transposed = false) const {
        return {data, static_cast<std::int64_t>(v_stride), transposed};
    }
    [[nodiscard]] Biases biases(std::size_t head) const {
        return {static_cast<const float*>(bias.values), heads, head};
    }

    /// Of the keys that queries [first, first + count) see, the first one's block; and one past the last.
    [[nodiscard]] std::size_t first_block(std::size_t first) const {
        return attention->first_key(first) / key_block * key_block;
    }
    [[nodiscard]] std::size_t end_key(std::size_t first, std::size_t count) const {
        return attention->end_key(first + count - 1);
    }

    const Attention* attention;
    PositionBias bias;
    Dropped dropped;
    std::size_t seq, key_seq, heads, kv_heads, dim, values, group, q_stride, dq_stride, k_stride, v_stride, o_stride,
        lse_stride;
    float scale;
};

std::int64_t whole(std::size_t n) { return static_cast<std::int64_t>(n); }

Matrix block_of(const std::vector<float>& scores, bool transposed = false) {
    return {scores.data(), whole(key_block), transposed};
}

/// One block of queries of one head against all the keys it sees.
void forward_unit(const Shape& s, const Memory& memory, std::size_t batch, std::size_t head, std::size_t first) {
    const std::size_t queries = std::min(query_block, s.seq - first), kv_head = head / s.group;
    const std::size_t seen = s.end_key(first, queries), start = s.first_block(first), at = s.query(batch, first, head);
    std::vector<float> scores(queries * key_block), largest(queries), total(queries);
    std::vector<float> factors(s.dropped.any() ? scores.size() : 0);
    float* const o = memory[3] + s.output(batch, first, head);
    for (std::size_t j = start; j < seen; j += key_block) {
        const std::size_t keys = std::min(key_block, seen - j);
        const ScoreBlock block{scores.data(), key_block, queries, keys, first, j, s.attention};
        multiply(whole(queries), whole(keys), whole(s.dim), s.scale, s.queries(memory[0] + at),
                 s.keys(memory[1] + s.key(batch, j, kv_head), true), 0.0f, scores.data(), whole(key_block));
        add_biases(block, s.biases(head));
        absorb(block, largest.data(), total.data(), o, s.o_stride, s.values);
        if (s.dropped.any()) {
            s.dropped.draw(block, batch * s.heads + head, factors.data());
            drop(block, factors.data(), scores.data());
        }
        multiply(whole(queries), whole(s.values), whole(keys), 1.0f, block_of(scores),
                 s.columns_of_values(memory[2] + s.value(batch, j, kv_head)), j == start ? 0.0f : 1.0f, o,
                 whole(s.o_stride));
    }
    finish_rows(queries, largest.data(), total.data(), o, s.o_stride, s.values, memory[4] + s.lse(batch, first, head));
}

void forward(const Attention& a, const Memory& memory) {
    const Shape s(a, memory.settings());
    const std::size_t blocks = (s.seq + query_block - 1) / query_block;
    each_unit(a.batch * s.heads * blocks, [&](std::size_t unit) {
        // Blocks of a causal head grow with their position: the longest first shares them more evenly.
        const std::size_t block = blocks - 1 - unit % blocks, head = unit / blocks % s.heads;
        forward_unit(s, memory, unit / blocks / s.heads, head, block * query_block);
    });
}

/// The gradients that flow through one key-value head: q k v o lse do -> dq dk dv. biases: [seq, keys, heads], to
/// which those of position biases are added; null: there are none.
class BackwardUnit {
public:
    BackwardUnit(const Shape& s, const Memory& memory, std::size_t batch, std::size_t kv_head, float* biases)
        : s_(s),
          memory_(memory),
          batch_(batch),
          kv_head_(kv_head),
          biases_(biases),
          probabilities_(std::min(query_block, s.seq) * key_block),
          gradients_(probabilities_.size()),
          factors_(s.dropped.any() ? probabilities_.size() : 0),
          delta_(s.group * s.seq) {
        for (std::size_t member = 0; member < s.group; ++member) {
            const std::size_t at = s.output(batch, 0, head(member));
            row_products(memory[3] + at, memory[5] + at, s.o_stride, s.seq, s.values, delta_.data() + member * s.seq);
        }
    }

    void run() {
        for (std::size_t j = 0; j < s_.key_seq; j += key_block) {
            bool first = true;
            for (std::size_t member = 0; member < s_.group; ++member)
                for (std::size_t i = 0; i < s_.seq; i += query_block)
                    if (meet(i, j)) {
                        block(member, i, j, first);
                        first = false;
                    }
            if (first) nobody_looked(j);
        }
    }

private:
    [[nodiscard]] std::size_t head(std::size_t member) const { return kv_head_ * s_.group + member; }

    /// Whether any query of a block sees any key of a block.
    [[nodiscard]] bool meet(std::size_t i, std::size_t j) const {
        return s_.first_block(i) <= j && j < s_.end_key(i, std::min(query_block, s_.seq - i));
    }

    /// Keys before every query's window have no gradient.
    void nobody_looked(std::size_t j) {
        for (std::size_t key = j; key < std::min(j + key_block, s_.key_seq); ++key) {
            std::fill_n(memory_[7] + s_.key(batch_, key, kv_head_), s_.dim, 0.0f);
            std::fill_n(memory_[8] + s_.value(batch_, key, kv_head_), s_.values, 0.0f);
        }
    }

    /// first: dk and dv of these keys are written and not added to; dq is so at the first keys that its queries see.
    void block(std::size_t member, std::size_t i, std::size_t j, bool first) {
        const std::size_t queries = std::min(query_block, s_.seq - i), keys = std::min(key_block, s_.key_seq - j);
        const std::size_t o = s_.output(batch_, i, head(member));
        const std::size_t q = s_.query(batch_, i, head(member)), k = s_.key(batch_, j, kv_head_),
                          v = s_.value(batch_, j, kv_head_);
        const auto m = whole(queries), n = whole(keys), d = whole(s_.dim), values = whole(s_.values),
                   stride = whole(key_block);
        const ScoreBlock scores{probabilities_.data(), key_block, queries, keys, i, j, s_.attention};
        const float add = first ? 0.0f : 1.0f;
        multiply(m, n, d, s_.scale, s_.queries(memory_[0] + q), s_.keys(memory_[1] + k, true), 0.0f,
                 probabilities_.data(), stride);
        add_biases(scores, s_.biases(head(member)));
        multiply(m, n, values, 1.0f, s_.outputs(memory_[5] + o), s_.columns_of_values(memory_[2] + v, true), 0.0f,
                 gradients_.data(), stride);
        if (s_.dropped.any()) {
            s_.dropped.draw(scores, batch_ * s_.heads + head(member), factors_.data());
            drop(scores, factors_.data(), gradients_.data());
        }
        score_gradients(scores, gradients_.data(), memory_[4] + s_.lse(batch_, i, head(member)),
                        delta_.data() + member * s_.seq + i);
        if (s_.dropped.any()) drop(scores, factors_.data(), probabilities_.data());
        if (biases_ != nullptr) bias_gradients(scores, gradients_.data(), s_.biases(head(member)), biases_);
        multiply(n, values, m, 1.0f, block_of(probabilities_, true), s_.outputs(memory_[5] + o), add, memory_[8] + v,
                 whole(s_.v_stride));
        multiply(n, d, m, s_.scale, block_of(gradients_, true), s_.queries(memory_[0] + q), add, memory_[7] + k,
                 whole(s_.k_stride));
        multiply(m, d, n, s_.scale, block_of(gradients_), s_.keys(memory_[1] + k), j == s_.first_block(i) ? 0.0f : 1.0f,
                 memory_[6] + (batch_ * s_.seq + i) * s_.dq_stride + head(member) * s_.dim, whole(s_.dq_stride));
    }

    const Shape& s_;
    const Memory& memory_;
    std::size_t batch_, kv_head_;
    float* biases_;
    std::vector<float> probabilities_, gradients_, factors_, delta_;
};

}  // namespace

void run_attention(const Attention& a, const Memory& memory) {
    if (is_half(a.dtype)) return run_half_attention(a, memory);
    if (!a.backward) return forward(a, memory);
    const Shape s(a, memory.settings());
    BiasGradients biases(a, memory.settings());
    each_unit(a.batch * s.kv_heads, [&](std::size_t unit) {
        BackwardUnit(s, memory, unit / s.kv_heads, unit % s.kv_heads, biases.of(unit / s.kv_heads)).run();
    });
    biases.finish();
}

}  // namespace orrery::kernels::cpu
