// The kernels behind launch_attention, and what they take. Tensors as in kernels/operands.hpp.
#pragma once

#include <cstdint>

#include "kernels/cuda/place.hpp"
#include "kernels/dropout_mask.hpp"
#include "kernels/kernel.hpp"

namespace orrery::kernels::cuda {

struct AttentionArguments {
    const void *q, *k, *v;
    void* o;     ///< written forward, read backward
    float* lse;  ///< likewise
    const void* d_o;
    void *dq, *dk, *dv;
    float* delta;  ///< scratch [batch, heads, seq]: sum over a row of do times o
    std::uint32_t seq, heads, kv_heads;
    bool causal;
    /// Elements from one token to the next in q and dq, in k, v, dk and dv, and in o and do: multiples of 16 bytes.
    std::uint64_t q_stride, kv_stride, o_stride;
    MaskNumbers dropped;  ///< of probabilities [batch, heads, seq, seq]; threshold 0: nothing is dropped
};

template <class T, int D>
void launch_forward(const Place& place, const AttentionArguments& arguments, std::uint32_t batch);
template <class T, int D>
void launch_backward(const Place& place, const AttentionArguments& arguments, std::uint32_t batch);

}  // namespace orrery::kernels::cuda
