// Attention in bf16: the heads that share keys and values are unpacked to fp32 together, for the loops of fp32.
#include <array>
#include <vector>

#include "kernels/cpu/attention.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"

namespace orrery::kernels::cpu {

namespace {

/// One operand: rows of tokens, of which a group of heads has some columns.
struct Columns {
    Bfloat16* memory;
    std::size_t stride;  ///< elements from one token to the next
    std::size_t first, count, rows;

    [[nodiscard]] std::size_t elements() const { return rows * count; }
    void unpack_to(float* to) const {
        for (std::size_t r = 0; r < rows; ++r) unpack(memory + r * stride + first, to + r * count, count);
    }
    void pack_from(const float* from) const {
        for (std::size_t r = 0; r < rows; ++r) pack(from + r * count, memory + r * stride + first, count);
    }
};

/// The query heads of one key-value head in one sequence.
class HeadGroup {
public:
    HeadGroup(const Attention& a, const Memory& memory, std::size_t batch, std::size_t kv_head)
        : memory_(memory), batch_(batch), one_(a) {
        const std::size_t group = a.heads / a.kv_heads, packed = memory.settings().row_stride,
                          keys = memory.settings().key_stride != 0 ? memory.settings().key_stride : packed;
        one_.dtype = Dtype::fp32;
        one_.batch = one_.kv_heads = 1;
        one_.heads = static_cast<std::uint32_t>(group);
        contiguous_.lse_stride = memory.settings().lse_stride;
        lse_ = memory[4] +
               (batch * a.heads + kv_head * group) * (contiguous_.lse_stride != 0 ? contiguous_.lse_stride : a.seq);
        const std::size_t wide = group * a.head_dim, narrow = a.head_dim;
        output_ = {nullptr, std::size_t{a.heads} * a.head_dim, kv_head * wide, wide, a.seq};
        query_ = {nullptr, packed != 0 ? packed : output_.stride, kv_head * wide, wide, a.seq};
        gradient_ = query_;
        if (memory.settings().dq_stride != 0) gradient_.stride = memory.settings().dq_stride;
        key_ = {nullptr, keys != 0 ? keys : std::size_t{a.kv_heads} * a.head_dim, kv_head * narrow, narrow, a.keys()};
    }

    void forward() {
        std::vector<float> values(2 * query_.elements() + 2 * key_.elements());
        float* next = values.data();
        std::array<void*, 5> pointers{};
        for (std::size_t i = 0; i < 3; ++i) pointers[i] = unpacked(i, i == 0 ? query_ : key_, next);
        pointers[3] = next;
        pointers[4] = lse_;
        run(pointers);
        at(output_, 3).pack_from(static_cast<const float*>(pointers[3]));
    }

    void backward() {
        std::vector<float> values(4 * query_.elements() + 4 * key_.elements());
        float* next = values.data();
        std::array<void*, 9> pointers{};
        for (std::size_t i = 0; i < 3; ++i) pointers[i] = unpacked(i, i == 0 ? query_ : key_, next);
        pointers[3] = unpacked(3, output_, next);
        pointers[4] = lse_;
        pointers[5] = unpacked(5, output_, next);
        for (std::size_t i = 6; i < 9; ++i) {
            pointers[i] = next;
            next += (i == 6 ? gradient_ : key_).elements();
        }
        run(pointers);
        for (std::size_t i = 6; i < 9; ++i)
            at(i == 6 ? gradient_ : key_, i).pack_from(static_cast<const float*>(pointers[i]));
    }

private:
    /// These columns of operand i, from the sequence's first token on.
    [[nodiscard]] Columns at(Columns columns, std::size_t i) const {
        columns.memory = memory_.as<Bfloat16>(i) + batch_ * columns.rows * columns.stride;
        return columns;
    }
    float* unpacked(std::size_t i, const Columns& columns, float*& next) const {
        float* const to = next;
        at(columns, i).unpack_to(to);
        next += columns.elements();
        return to;
    }
    void run(std::span<void* const> pointers) const {
        const ThreadCount own(1);
        run_attention(one_, Memory(pointers, contiguous_));
    }

    const Memory& memory_;
    std::size_t batch_;
    Attention one_;
    Settings contiguous_{};
    float* lse_ = nullptr;
    Columns query_{}, gradient_{}, key_{}, output_{};  ///< gradient_: of queries
};

}  // namespace

void run_half_attention(const Attention& a, const Memory& memory) {
    each_unit(std::size_t{a.batch} * a.kv_heads, [&](std::size_t unit) {
        HeadGroup heads(a, memory, unit / a.kv_heads, unit % a.kv_heads);
        a.backward ? heads.backward() : heads.forward();
    });
}

}  // namespace orrery::kernels::cpu
