// Activations that lie sequence by sequence, [batch, sequence, hidden], as PyTorch's modules have them. Collectives
// join and cut along the first dimension: tokens that tensor ranks share by their place in a sequence are copied behind
// a gather and before a scatter (torch/distributed/_functional_collectives.py, all_gather_tensor,
// reduce_scatter_tensor: torch.cat of torch.chunk). Megatron-LM's [sequence, batch, hidden] needs neither.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// What ranks gathered, each its part of every sequence, in the order of sequences: of one sequence it is there already
/// (_maybe_view_chunk_cat). For the collective at the end of `list`, whose flag it waits for.
void order_gathered(const LayerStream& stream, std::vector<Work>& list, std::uint64_t width);

/// What is to be scattered, rank by rank. torch.compile writes so what a kernel of its own leaves.
void order_scattered(const LayerStream& stream, std::vector<Work>& list, std::uint64_t width);

}  // namespace orrery::strategies
