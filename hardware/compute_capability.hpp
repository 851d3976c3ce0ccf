// CUDA's compute capabilities of the generations that code tells apart (CUDA C++ programming guide), 80 for 8.0.
#pragma once

namespace orrery::hardware {

inline constexpr int volta = 70, ampere = 80, hopper = 90, blackwell = 100, blackwell_ultra = 103, rtx_blackwell = 120;

constexpr bool is_hopper(int compute_capability) {
    return compute_capability >= hopper && compute_capability < blackwell;
}

/// With tensor memory and its instructions, which the RTX boards of the same name do without.
constexpr bool is_blackwell(int compute_capability) {
    return compute_capability >= blackwell && compute_capability < rtx_blackwell;
}

/// FlashAttention-2 supports "Ampere, Ada, or Hopper GPUs", its predecessor Turing's too (Dao-AILab/flash-attention,
/// README); chips that are no NVIDIA GPUs (0) have their own.
constexpr bool lacks_flash_attention(int compute_capability) {
    return compute_capability > 0 && compute_capability < ampere;
}

/// Whether products take fp8 operands with one scale a tensor in either order, not with both along the summed dimension
/// alone (Transformer Engine, is_non_tn_fp8_gemm_supported).
constexpr bool takes_either_order(int compute_capability) {
    constexpr int behind_these = 130;
    return is_blackwell(compute_capability) || compute_capability >= behind_these;
}

}  // namespace orrery::hardware
