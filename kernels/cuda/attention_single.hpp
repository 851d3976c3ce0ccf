// Attention in fp32, and what its kernels take. Tensors as in kernels/operands.hpp.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/place.hpp"
#include "kernels/dropout_mask.hpp"

namespace orrery::kernels::cuda {

/// Columns of the longest head.
inline constexpr std::uint32_t longest_single_head = 128;

struct SingleAttention {
    const float *q, *k, *v;
    float* o;    ///< written forward, read backward
    float* lse;  ///< likewise
    const float* d_o;
    float *dq, *dk, *dv;
    float* delta;  ///< scratch [batch, heads, seq]: sum over a row of do times o
    std::uint32_t seq, heads, kv_heads, dim;
    std::uint64_t q_stride, kv_stride, o_stride;  ///< elements from one token to the next
    float scale;
    bool causal;
    MaskNumbers dropped;  ///< of probabilities [batch, heads, seq, seq]; threshold 0: nothing is dropped

    /// Where a head of a token begins in q; k and v; o. row: where a head's numbers begin in lse.
    [[nodiscard]] __host__ __device__ std::uint64_t query(std::uint64_t batch, std::uint32_t token,
                                                          std::uint32_t head) const {
        return (batch * seq + token) * q_stride + std::uint64_t{head} * dim;
    }
    [[nodiscard]] __host__ __device__ std::uint64_t key(std::uint64_t batch, std::uint32_t token,
                                                        std::uint32_t head) const {
        return (batch * seq + token) * kv_stride + std::uint64_t{head} * dim;
    }
    [[nodiscard]] __host__ __device__ std::uint64_t output(std::uint64_t batch, std::uint32_t token,
                                                           std::uint32_t head) const {
        return (batch * seq + token) * o_stride + std::uint64_t{head} * dim;
    }
    [[nodiscard]] __host__ __device__ std::uint64_t row(std::uint64_t batch, std::uint32_t head) const {
        return (batch * heads + head) * seq;
    }
    /// Where the dropout of a head's probabilities [seq, seq] begins among the model's.
    [[nodiscard]] __host__ __device__ std::uint64_t mask(std::uint64_t batch, std::uint32_t head) const {
        return dropped.place(row(batch, head) * seq);
    }
};

void launch_single_attention(const Place& place, const SingleAttention& attention, std::uint32_t batch, bool backward);

}  // namespace orrery::kernels::cuda
