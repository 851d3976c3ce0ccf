// Which layers stand on which stage, equally many on each or not.
//
// As Megatron-LM divides them (megatron/core/transformer/transformer_block.py, get_num_layers_to_build): first and last
// stage may have other numbers of layers than those between, the same in each of their chunks; or the embedding, and
// the logits with the loss, count as a layer each, so that the first chunk and the last have one less; or the layers of
// every chunk are written down.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "strategies/plan.hpp"

namespace orrery::strategies {

/// Layers [first, first + count) of the model's body.
struct LayerRange {
    std::uint32_t first = 0, count = 0;
};
/// Of `layers` layers, those of a virtual stage (PipelineShape::virtual_stage). The plan must have passed
/// check_stages().
LayerRange layers_of(const Plan& plan, std::uint32_t layers, std::uint32_t virtual_stage);

/// The model's layers, with the embedding and with the loss where they count as layers.
std::uint64_t counted_layers(const Plan& plan);

/// The fewest and the most layers of a chunk. The first chunk may hold the embedding alone, the last the loss.
std::pair<std::uint32_t, std::uint32_t> chunk_sizes(const Plan& plan);

/// Whether one stage holds both the embedding and the logits: where there is one, or the way through them turns, or
/// there is one in each direction.
bool ends_meet(const Plan& plan);

/// Whether some stage has more layers than another.
bool unequal_stages(const Plan& plan);

/// What Megatron-LM's pipeline_model_parallel_layout says, as Strategy::pipeline_layers does: "Et*3|(tt|)*2L" is
/// "3,2,2". Empty where something else than an embedding (E), layers (t) and a loss (L) stands in it.
std::string layers_of_layout(std::string_view layout);

/// Throws Error (pointer under "/strategy") where the layers cannot be divided as the plan says, with the nearest that
/// can.
void check_stages(const Plan& plan);

}  // namespace orrery::strategies
