// What the readers of several families of Hugging Face models share.
#pragma once

#include <initializer_list>
#include <string_view>

#include "models/hugging_face_families.hpp"

namespace orrery::models {

/// hidden / heads; refuses heads that do not divide.
std::uint32_t even_head_dim(const ConfigReader& config, const Keys& keys, const ModelSpec& spec);

/// Layers, hidden, heads (as many of keys and values) and vocabulary, which every family states.
ModelSpec common(const ConfigReader& config, const Keys& keys);

/// An MLP so many times as wide as the residual stream; refused at `key` where that is beyond 32 bits.
std::uint32_t times_hidden(const ConfigReader& config, std::string_view key, const ModelSpec& spec,
                           std::uint32_t ratio = 4);

/// One dropout rate per model: different rates in one file are refused.
double dropout(const ConfigReader& config, std::initializer_list<std::string_view> keys, double otherwise);

/// Refuses another activation than silu where gated, than a GELU elsewhere.
void check_activation(const ConfigReader& config, std::string_view key, std::string_view otherwise, bool gated);

/// Refuses the flag (`otherwise` where absent) when it has the value `refused`.
void refuse_if(const ConfigReader& config, std::string_view key, bool otherwise, bool refused);

/// What Llama, Mistral, Qwen and Gemma share: RMS norms, rotary positions, a gated MLP without biases. Heads of
/// hidden / heads columns unless head_dim says otherwise.
ModelSpec read_gated(const ConfigReader& config, const Keys& keys, ActivationKind activation = ActivationKind::silu);

/// num_key_value_heads; null stands for one per head. An absent key has a default of its own in each family.
std::uint32_t kv_heads(const ConfigReader& config, std::uint32_t heads);

/// head_dim where it is stated, hidden / heads elsewhere.
std::uint32_t stated_head_dim(const ConfigReader& config, const Keys& keys, const ModelSpec& spec);

/// Refuses layer_types (where the file has them) other than so many layers with a window and one without in turn.
void check_layer_types(const ConfigReader& config, std::uint32_t pattern, std::string_view windowed);

ModelSpec read_qwen2(const ConfigReader& config, const Keys& keys);
ModelSpec read_qwen3(const ConfigReader& config, const Keys& keys);

}  // namespace orrery::models
