// What cuDNN's own benchmark prints of its fused attention (cudnn-frontend, benchmark/sdpa_benchmark_training/results).
#pragma once

#include <array>
#include <cstdint>

namespace orrery::hardware {

/// Heads that were measured: DeepSeek-V3's of 192 columns, Llama 3.1's of 128, and GPT-OSS's of 64 behind a window.
enum class AttentionHeads : std::uint8_t { latent, grouped, windowed };

/// Of causal sequences of 2,048 to 32,768 tokens, each twice as long as the one before.
using AttentionByLength = std::array<double, 5>;
inline constexpr double shortest_attention = 2048;
/// Interpolated over ln(seq), the ends beyond.
double at_length(const AttentionByLength& values, double seq);

struct AttentionPasses {
    AttentionByLength forward, backward;
};
/// TFLOP/s of two sequences, not deterministic: in bf16, and in fp8 with scales of MXFP8 on Blackwell and of a tensor
/// on Hopper.
struct CudnnAttention {
    AttentionPasses half, fp8;
};
/// Of April 2026, cuDNN 9.22, on GB200 (below compute capability 10.3) and GB300; of February 2026, cuDNN 9.19, on
/// H200, where grouped heads stand for all. compute_capability: CUDA's, 90 and more.
const CudnnAttention& cudnn_attention(AttentionHeads heads, int compute_capability);

}  // namespace orrery::hardware
