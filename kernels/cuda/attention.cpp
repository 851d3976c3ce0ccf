#include "kernels/cuda/attention.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "kernels/cuda/attention_kernels.hpp"
#include "kernels/cuda/attention_single.hpp"

namespace orrery::kernels::cuda {

namespace {

/// What tensor cores' tiles are loaded by.
constexpr std::uint64_t vector_bytes = 16;

using Launch = void (*)(const Place&, const AttentionArguments&, std::uint32_t);

struct Entry {
    std::uint32_t head_dim;
    Dtype dtype;
    Launch forward, backward;
};

template <class T, int D>
constexpr Entry entry(Dtype dtype) {
    return {D, dtype, launch_forward<T, D>, launch_backward<T, D>};
}

// One line for each head and format that is compiled.
constexpr std::array table{
    entry<__half, 64>(Dtype::fp16),        entry<__half, 80>(Dtype::fp16),
    entry<__half, 96>(Dtype::fp16),        entry<__half, 128>(Dtype::fp16),
    entry<__nv_bfloat16, 64>(Dtype::bf16), entry<__nv_bfloat16, 80>(Dtype::bf16),
    entry<__nv_bfloat16, 96>(Dtype::bf16), entry<__nv_bfloat16, 128>(Dtype::bf16),
    entry<float, 64>(Dtype::tf32),         entry<float, 80>(Dtype::tf32),
    entry<float, 96>(Dtype::tf32),         entry<float, 128>(Dtype::tf32),
};

const Entry* find(const Attention& a) {
    for (const Entry& entry : table)
        if (entry.head_dim == a.head_dim && entry.dtype == a.dtype) return &entry;
    return nullptr;
}

/// Of no dropout the threshold is 0.
MaskNumbers mask_of(const Settings& settings) {
    return settings.dropout ? MaskNumbers(*settings.dropout) : MaskNumbers();
}

/// fp32, and heads that tf32's kernels are not compiled for.
bool is_single(const Attention& a) { return a.dtype == Dtype::fp32 || (a.dtype == Dtype::tf32 && find(a) == nullptr); }

void launch_single(const Place& place, const Attention& a, std::span<void* const> o, const Settings& settings) {
    const auto tensor = [&](std::size_t i) { return static_cast<float*>(o[i]); };
    const TokenStrides strides = token_strides(a, settings);
    SingleAttention s{};
    s.q = tensor(0);
    s.k = tensor(1);
    s.v = tensor(2);
    s.o = tensor(3);
    s.lse = tensor(4);
    s.delta = static_cast<float*>(place.scratch);
    s.seq = a.seq;
    s.heads = a.heads;
    s.kv_heads = a.kv_heads;
    s.dim = a.head_dim;
    s.q_stride = strides.q;
    s.kv_stride = strides.kv;
    s.o_stride = strides.o;
    s.scale = score_scale(a);
    s.causal = a.causal;
    s.dropped = mask_of(settings);
    if (a.backward) {
        s.d_o = tensor(5);
        s.dq = tensor(6);
        s.dk = tensor(7);
        s.dv = tensor(8);
    }
    launch_single_attention(place, s, a.batch, a.backward);
}

}  // namespace

bool supports(const Attention& a) {
    if (!a.plain()) return false;  // other lengths of keys and windows are not implemented on GPUs yet
    // Heads and batch are the y and z of a grid; positions are 32-bit with room for a tile beyond the last.
    const bool fits = a.heads <= 65535 && a.batch <= 65535 && a.seq <= std::numeric_limits<std::uint32_t>::max() / 2;
    if (is_single(a)) return fits && a.head_dim <= longest_single_head && a.head_dim > 0;
    return fits && find(a) != nullptr;
}

TokenStrides token_strides(const Attention& a, const Settings& settings) {
    const std::uint64_t wide = std::uint64_t{a.heads} * a.head_dim, narrow = std::uint64_t{a.kv_heads} * a.head_dim;
    const std::uint64_t packed = settings.row_stride;
    return {packed != 0 ? packed : wide, packed != 0 ? packed : narrow, wide};
}

float score_scale(const Attention& a) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(a.head_dim))); }

std::uint64_t scratch_bytes(const Attention& a) {
    return a.backward ? sizeof(float) * a.batch * std::uint64_t{a.heads} * a.seq : 0;
}

void launch_attention(const Place& place, const Attention& a, std::span<void* const> o, const Settings& settings) {
    if (is_single(a)) return launch_single(place, a, o, settings);
    const std::uint64_t row_stride = settings.row_stride;
    if (row_stride * size_of(a.dtype) % vector_bytes != 0)
        throw Error(fmt::format("{} in rows of {} elements", to_text(Kernel(a)), row_stride),
                    "rows are multiples of 16 bytes");
    const Entry* const entry = find(a);
    const TokenStrides strides = token_strides(a, settings);
    AttentionArguments arguments{};
    arguments.q = o[0];
    arguments.k = o[1];
    arguments.v = o[2];
    arguments.o = o[3];
    arguments.lse = static_cast<float*>(o[4]);
    arguments.delta = static_cast<float*>(place.scratch);
    arguments.seq = a.seq;
    arguments.heads = a.heads;
    arguments.kv_heads = a.kv_heads;
    arguments.causal = a.causal;
    arguments.dropped = mask_of(settings);
    arguments.q_stride = strides.q;
    arguments.kv_stride = strides.kv;
    arguments.o_stride = strides.o;
    if (!a.backward) {
        entry->forward(place, arguments, a.batch);
        return;
    }
    arguments.d_o = o[5];
    arguments.dq = o[6];
    arguments.dk = o[7];
    arguments.dv = o[8];
    entry->backward(place, arguments, a.batch);
}

}  // namespace orrery::kernels::cuda
