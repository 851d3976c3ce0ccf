// What NVIDIA's launch scripts set for the rows of its own tables, where those have no column for it: the kernels of
// fused attention and of experts' tokens, the overlap of what tensor ranks exchange, and documents packed into
// sequences.
#pragma once

#include <cstdint>

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

/// Tokens of the documents that the row's scripts pack into sequences of `seq`: the divisor of it that is nearest to
/// what is published of its data; 0: they pack none, or nothing is published.
std::uint32_t document_length_of_recipe(const Row& row, std::uint32_t seq);

}  // namespace orrery::validate
