// Fused attention before the newest: what earlier kernels reach of the rate that tables were measured at.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::hardware {

/// Whose fused attention runs.
enum class AttentionKernel : std::uint8_t {
    newest,        ///< as in the profile's table
    flash_1,       ///< FlashAttention of 2022
    flash_triton,  ///< the same in Triton
    flash_2,       ///< of July 2023
    cudnn,         ///< as Transformer Engine takes it from Hopper on
    cudnn_9_17,    ///< the same since December 2025, which is faster on Blackwell
};

/// Forward and backward rate over the table's.
struct AttentionRates {
    double forward = 1, backward = 1;
    std::string_view origin;
};

/// What a rate depends on.
struct AttentionShape {
    std::uint32_t head_dim = 128;  ///< of queries
    std::uint32_t window = 0;      ///< 0: none
    double seq = 4096;             ///< queries of a causal sequence
    bool dropout = false;          ///< whether it draws one, as the table's kernel then does too
};
/// compute_capability: CUDA's, 80 for 8.0.
AttentionRates attention_rates(AttentionKernel kernel, int compute_capability, const AttentionShape& shape);

/// A kernel's rate with a dropout over its rate without.
AttentionRates attention_dropout(AttentionKernel kernel, int compute_capability);

}  // namespace orrery::hardware
