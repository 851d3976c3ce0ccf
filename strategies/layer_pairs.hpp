// Layers of two micro-batches beside each other: the forward of one and the backward of the other as one block, so that
// exchanges of tokens of each hide behind computation of the other (Megatron-LM, overlap-moe-expert-parallel-comm,
// model_chunk_schedule_plan.py; the same in DualPipe, arXiv:2412.19437, section 3.2.1).
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "strategies/intern.hpp"
#include "strategies/layer_blocks.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

/// Blocks of pairs, by the blocks that they stand for: LayerBlocks::forward (what is left of it behind the host's wait,
/// where there is one) and LayerBlocks::backward.
using PairBlocks = std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>;

/// A layer as one of a pair.
struct PairedLayer {
    const ShardedLayer* layer;
    const LayerBlocks* blocks;
    Again again;  ///< in its backward
};

/// Appends the block of a forward of one and a backward of the other. Between what stands before, between and behind a
/// layer's exchanges (a layer without any: all before, its backward all between) the order is

///     exchanges  combine of B  |  dispatch of F, dispatch of B  |  combine of F
///     compute    F before      |  B between, F between          |  B behind, F behind

/// where B's own works before its first exchange come first. A collective over `expert` is an exchange; what stands
/// between those of one way there goes with them. Weight gradients stay where they stand in the backward. The block has
/// the data flow of no layer, so that it is priced and not executed.
void add_pair(StepProgram& step, Intern& intern, const PairedLayer& forward, const PairedLayer& backward,
              PairBlocks& pairs);

}  // namespace orrery::strategies
