// Fused attention on AMD's Instinct accelerators, whose tables hold AITER's kernels in assembly: what others reach.
#pragma once

#include "hardware/attention_kernels.hpp"
#include "hardware/socket.hpp"

namespace orrery::hardware {

/// flash_2 and flash_1: Composable Kernel's, which flash-attention has for ROCm; flash_triton: AOTriton's, which
/// PyTorch's scaled_dot_product_attention has there. cuDNN's there are none of: the table's. socket: of AMD's.
AttentionRates instinct_attention_rates(AttentionKernel kernel, Socket socket);

}  // namespace orrery::hardware
