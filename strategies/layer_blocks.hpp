// One sharded layer as two blocks, forward and backward, under a mode of recomputation.
#pragma once

#include "strategies/intern.hpp"
#include "strategies/partition/tensor.hpp"

namespace orrery::strategies {

struct LayerBlocks {
    std::uint32_t forward = 0, backward = 0;  ///< indices into StepProgram::blocks
    std::uint64_t saved_bytes = 0;            ///< kept per micro-batch between the two
    std::uint64_t parameters = 0;             ///< this rank's
    std::uint64_t replicated_parameters = 0;  ///< of these, those that every tensor rank holds
    std::uint64_t expert_parameters = 0;      ///< of `parameters`, those of experts
};

/// Appends the blocks to the step. none: everything that backward needs is kept. selective: the attention core is run
/// again before its backward (Korthikanti et al. 2022). full: only the layer's input is kept and the whole forward is
/// run again.
LayerBlocks add_blocks(StepProgram& step, Intern& intern, const ShardedLayer& layer, Recompute recompute);

}  // namespace orrery::strategies
