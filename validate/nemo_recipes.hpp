// What NVIDIA's launch scripts set for the rows of its own tables, where those have no column for it: the kernels of
// fused attention and of experts' tokens, and the overlap of what tensor ranks exchange.
#pragma once

#include "validate/row.hpp"

namespace orrery::validate {

/// Whether the row's scripts keep Transformer Engine from cuDNN's attention (NVTE_FUSED_ATTN=0), which leaves
/// FlashAttention-2.
bool recipe_takes_flash_2(const Row& row);

/// Whether the row's scripts, where it has tensor ranks, move what they gather and scatter beside products
/// (ub_tp_comm_overlap, tp_comm_overlap).
bool recipe_overlaps_tensor(const Row& row);

/// Whether the row's scripts move experts' tokens by kernels of their own (moe_permute_fusion).
bool recipe_fuses_permutation(const Row& row);

}  // namespace orrery::validate
