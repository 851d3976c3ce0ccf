// Attention in 16 bits: the heads that share keys and values are unpacked to fp32 together, for the loops of fp32.
#include <array>
#include <vector>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"

namespace orrery::kernels::cpu {

namespace {

/// One operand: rows of tokens, of which a group of heads has some columns.
struct Columns {
    Format format;
    void* memory;        ///< of the sequence
    std::size_t stride;  ///< elements from one token to the next
    std::size_t first, count, rows;

    [[nodiscard]] std::size_t elements() const { return rows * count; }
    void unpack_to(float* to) const {
        for (std::size_t r = 0; r < rows; ++r) load(format, memory, r * stride + first, to + r * count, count);
    }
    void pack_from(const float* from) const {
        for (std::size_t r = 0; r < rows; ++r) store(format, from + r * count, memory, r * stride + first, count);
    }
};

/// The query heads of one key-value head in one sequence.
class HeadGroup {
public:
    HeadGroup(const Attention& a, const Memory& memory, std::size_t batch, std::size_t kv_head)
        : memory_(memory), format_(format_of(a.dtype)), batch_(batch), kv_head_(kv_head), all_heads_(a.heads), one_(a) {
        const std::size_t group = a.heads / a.kv_heads, packed = memory.settings().row_stride, keys = a.head_dim,
                          values = memory.settings().value_dim != 0 ? memory.settings().value_dim : keys;
        one_.dtype = Dtype::fp32;
        one_.batch = one_.kv_heads = 1;
        one_.heads = static_cast<std::uint32_t>(group);
        contiguous_.value_dim = memory.settings().value_dim;
        contiguous_.lse_stride = memory.settings().lse_stride;
        if (const auto& all = memory.settings().dropout) {
            const std::uint64_t before = std::uint64_t{batch * a.heads + kv_head * group} * a.seq * a.keys();
            contiguous_.dropout = *all;
            contiguous_.dropout->first = MaskNumbers(*all).place(before);
            contiguous_.dropout->run = contiguous_.dropout->stride = 0;
        }
        lse_ = memory[4] +
               (batch * a.heads + kv_head * group) * (contiguous_.lse_stride != 0 ? contiguous_.lse_stride : a.seq);
        const std::size_t of_keys = memory.settings().key_stride != 0 ? memory.settings().key_stride : packed;
        const auto columns = [&](std::size_t heads, std::size_t width, std::size_t all, std::size_t rows,
                                 std::size_t given) {
            return Columns{format_,       nullptr, given != 0 ? given : all * width, kv_head * heads * width,
                           heads * width, rows};
        };
        query_ = columns(group, keys, a.heads, a.seq, packed);
        gradient_ = query_;
        if (memory.settings().dq_stride != 0) gradient_.stride = memory.settings().dq_stride;
        key_ = columns(1, keys, a.kv_heads, a.keys(), of_keys);
        value_ = columns(1, values, a.kv_heads, a.keys(), of_keys);
        output_ = columns(group, values, a.heads, a.seq, 0);
    }

    void forward() {
        take_biases(nullptr);
        std::vector<float> values(query_.elements() + key_.elements() + value_.elements() + output_.elements());
        float* next = values.data();
        std::array<void*, 5> pointers{};
        for (std::size_t i = 0; i < 3; ++i) pointers[i] = unpacked(i, next);
        pointers[3] = next;
        pointers[4] = lse_;
        run(pointers);
        at(3).pack_from(static_cast<const float*>(pointers[3]));
    }

    /// biases: of the sequence, for all heads; null: there are none.
    void backward(float* biases) {
        take_biases(biases);
        std::vector<float> values(2 * (query_.elements() + key_.elements() + value_.elements() + output_.elements()));
        float* next = values.data();
        std::array<void*, 9> pointers{};
        for (const std::size_t i : {0, 1, 2, 3, 5}) pointers[i] = unpacked(i, next);
        pointers[4] = lse_;
        for (std::size_t i = 6; i < 9; ++i) {
            pointers[i] = next;
            next += at(i).elements();
        }
        run(pointers);
        for (std::size_t i = 6; i < 9; ++i) at(i).pack_from(static_cast<const float*>(pointers[i]));
        for (std::size_t i = 0; i < bias_gradients_.size(); ++i) biases[of_all(i)] += bias_gradients_[i];
    }

private:
    /// These columns of operand i, from the sequence's first token on.
    [[nodiscard]] Columns at(std::size_t i) const {
        Columns columns = value_;
        if (i == 0 || i == 6) columns = i == 0 ? query_ : gradient_;
        if (i == 1 || i == 7) columns = key_;
        if (i == 3 || i == 5) columns = output_;
        columns.memory = memory_.as<std::byte>(i) + batch_ * columns.rows * columns.stride * size_of(format_);
        return columns;
    }
    float* unpacked(std::size_t i, float*& next) const {
        float* const to = next;
        at(i).unpack_to(to);
        next += at(i).elements();
        return to;
    }
    /// An element of [seq, keys, the group's heads] among those of all heads.
    [[nodiscard]] std::size_t of_all(std::size_t i) const {
        return i / one_.heads * all_heads_ + kv_head_ * one_.heads + i % one_.heads;
    }
    void take_biases(const float* gradients) {
        contiguous_.position_bias = memory_.settings().position_bias;
        PositionBias& bias = contiguous_.position_bias;
        if (bias.values == nullptr) return;
        bias_.resize(std::size_t{one_.seq} * one_.keys() * one_.heads);
        for (std::size_t i = 0; i < bias_.size(); ++i) load(format_, bias.values, of_all(i), bias_.data() + i, 1);
        bias.values = bias_.data();
        if (gradients != nullptr) bias_gradients_.resize(bias_.size());
        bias.gradient = gradients != nullptr ? bias_gradients_.data() : nullptr;
    }
    void run(std::span<void* const> pointers) const {
        const ThreadCount own(1);
        run_attention(one_, Memory(pointers, contiguous_));
    }

    const Memory& memory_;
    Format format_;
    std::size_t batch_, kv_head_, all_heads_;
    Attention one_;
    Settings contiguous_{};
    float* lse_ = nullptr;
    Columns query_{}, gradient_{}, key_{}, value_{}, output_{};  ///< gradient_: of queries
    std::vector<float> bias_, bias_gradients_;
};

}  // namespace

void run_half_attention(const Attention& a, const Memory& memory) {
    BiasGradients biases(a, memory.settings());
    each_unit(std::size_t{a.batch} * a.kv_heads, [&](std::size_t unit) {
        const std::size_t batch = unit / a.kv_heads;
        HeadGroup heads(a, memory, batch, unit % a.kv_heads);
        a.backward ? heads.backward(biases.of(batch)) : heads.forward();
    });
    biases.finish();
}

}  // namespace orrery::kernels::cpu
