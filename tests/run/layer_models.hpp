// Models whose layers are others than GPT's and Llama's, as small as those.
#pragma once

#include <vector>

#include "models/model_spec.hpp"

namespace orrery::run {

/// Every kind of layer that is executed beside GPT's and Llama's, each in a model of its own name.
std::vector<models::ModelSpec> layer_models();

/// DeepSeek-V3's attention: queries, and keys and values, made of fewer numbers; heads of keys wider than values.
models::ModelSpec small_latent();
/// Queries made of the hidden states (DeepSeek-V2-Lite).
models::ModelSpec small_latent_lite();
/// Four experts, of which a token is sent to two, beside one that all take; the first layer has none.
models::ModelSpec small_latent_experts();

}  // namespace orrery::run
