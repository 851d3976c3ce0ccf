// What public recipes of a framework set where its tables of performance have no column for it.
#pragma once

#include <cstdint>
#include <optional>

#include "strategies/plan.hpp"
#include "validate/row.hpp"

namespace orrery::validate {

/// Whether NVIDIA's Megatron-Bridge ran the row, by its repository.
bool of_megatron_bridge(const Row& row);
/// Whether the row prints MXFP8: "MXFP8", or "FP8-MX" as older tables have it.
bool prints_mxfp8(const Row& row);

/// Model chunks of a stage in NeMo's recipe for the row's model, task, tensor ranks and stages; nothing where there is
/// none of these, or another of them.
std::optional<std::uint32_t> chunks_of_recipe(const Row& row, std::uint32_t tensor, std::uint32_t pipeline);

/// How experts get their tokens: all are padded to `capacity`.
struct ExpertRecipe {
    strategies::Dispatcher dispatcher;
    double capacity;
};
/// Of the recipe for the row's model; nothing where there is none.
std::optional<ExpertRecipe> experts_of_recipe(const Row& row);

/// Tokens that Megatron-Bridge's recipe for the row's model predicts beside the next one.
std::uint32_t further_tokens_of_recipe(const Row& row);

/// Whether Megatron-Bridge's recipe for the row has attention, and the product of the logits, in fp8.
bool recipe_narrows_attention(const Row& row);
bool recipe_narrows_output(const Row& row);

/// Whether NVIDIA's recipe for a row in fp8 keeps and gathers weights in fp8, where the row does not say.
bool recipe_gathers_narrow(const Row& row);

/// Whether its recipe for the row's model fuses what routers compute.
bool recipe_fuses_router(const Row& row);

/// Layers at the end whose products stay in bf16 in Megatron-Bridge's recipe for a model in NVFP4.
std::uint32_t wide_layers_of_recipe(const Row& row);

}  // namespace orrery::validate
