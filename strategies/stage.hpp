// One pipeline stage: which layers it holds and as which blocks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/operators.hpp"
#include "strategies/intern.hpp"
#include "strategies/layer_blocks.hpp"
#include "strategies/layer_pairs.hpp"
#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Blocks of one type of layer: equal unless the strategy recomputes the type.
struct TypeBlocks {
    LayerBlocks plain, recomputed;
};

/// Blocks of every type of layer, shared by all stages.
struct ModelBlocks {
    models::Model model;
    std::vector<TypeBlocks> types{};  ///< as model.layers
    /// Throws std::logic_error for a type that the model has not.
    [[nodiscard]] const TypeBlocks& of(std::string_view layer) const;
    PairBlocks pairs = {};  ///< of the body's layers, where exchanges of experts run beside another micro-batch
    std::uint64_t word_embedding_parameters = 0;  ///< per rank; exchanged between first and last stage when tied
};
/// The plan's model, with types of their own for layers whose products stay in 16 bits and for those that are frozen.
models::Model model_of(const Plan& plan);
ModelBlocks add_model_blocks(StepProgram& step, Intern& intern, const Plan& plan);

/// A layer on a stage: its blocks and its index among the model's nodes, from 0 for the first of the body (of a decoder
/// -1: embedding, layers: head).
struct PlacedLayer {
    const LayerBlocks* blocks;
    std::int32_t layer;
    bool runs_again = false;  ///< all of it, in its backward
};

/// chunks[c]: the layers of model chunk c, in forward order; which virtual stage it is says PipelineShape.
struct Stage {
    std::uint32_t index = 0;
    std::vector<std::vector<PlacedLayer>> chunks;
    ParameterCounts counts{};   ///< this rank's
    std::uint32_t tensors = 0;  ///< that this rank's parameters are

    /// Those that are trained, and those with the frozen ones.
    [[nodiscard]] WeightCount trained_weights(bool experts) const {
        return {counts.trained_of(experts), narrow_of(experts, true)};
    }
    [[nodiscard]] WeightCount all_weights(bool experts) const {
        return {counts.of(experts), narrow_of(experts, true) + narrow_of(experts, false),
                experts ? 0 : counts.quantized};
    }

private:
    [[nodiscard]] std::uint64_t narrow_of(bool experts, bool trained) const;
};
/// Runs of the graph's order, nodes of its body divided as stage_split.hpp says.
Stage place_layers(const ModelBlocks& blocks, const Plan& plan, std::uint32_t stage);

}  // namespace orrery::strategies
