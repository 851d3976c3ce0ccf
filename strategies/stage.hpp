// One pipeline stage: which layers it holds and as which blocks.
#pragma once

#include <cstdint>
#include <vector>

#include "strategies/intern.hpp"
#include "strategies/layer_blocks.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Blocks of every kind of layer, shared by all stages.
struct ModelBlocks {
    LayerBlocks embedding, plain, recomputed, head;
    LayerBlocks moe_plain, moe_recomputed;        ///< of layers with experts
    std::uint64_t word_embedding_parameters = 0;  ///< per rank; exchanged between first and last stage when tied
};
ModelBlocks add_model_blocks(StepProgram& step, Intern& intern, const Plan& plan);

/// A layer on a stage: its blocks and its index in the model (-1: embedding, layers: head).
struct PlacedLayer {
    const LayerBlocks* blocks;
    std::int32_t layer;
};

/// chunks[c]: the layers of model chunk c, in forward order. Chunk c of stage p is virtual stage c x pipeline + p.
struct Stage {
    std::uint32_t index = 0;
    std::vector<std::vector<PlacedLayer>> chunks;
    std::uint64_t parameters = 0;             ///< this rank's
    std::uint64_t replicated_parameters = 0;  ///< of these, those that every tensor rank holds
    std::uint64_t expert_parameters = 0;      ///< of `parameters`, those of experts

    /// Those of experts, or all others.
    [[nodiscard]] std::uint64_t parameters_of(bool experts) const {
        return experts ? expert_parameters : parameters - expert_parameters;
    }
};
Stage place_layers(const ModelBlocks& blocks, const Plan& plan, std::uint32_t stage);

}  // namespace orrery::strategies
