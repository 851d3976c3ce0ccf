// What fused attention in fp8 reaches of its rate in 16 bits.
#pragma once

#include <string_view>

#include "hardware/cudnn_attention.hpp"

namespace orrery::hardware {

/// Operations a second of attention in fp8 over those in bf16, for a causal sequence of `seq` tokens: cuDNN's, with
/// scales of MXFP8 on Blackwell and of a tensor on Hopper, where grouped heads alone were measured. Interpolated over
/// ln(seq), the ends beyond. 1 on older GPUs, which have no such kernel. compute_capability: CUDA's, 90 for 9.0.
double narrow_attention_rate(AttentionHeads heads, bool backward, double seq, int compute_capability);

}  // namespace orrery::hardware
