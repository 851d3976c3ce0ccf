// The models a scenario can name, and import of Hugging Face configuration files.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "models/model_spec.hpp"

namespace orrery::models {

/// Every shipped model, in the order of families (gpt.cpp, llama.cpp, bert.cpp, moe.cpp, t5.cpp, resnet.cpp, vit.cpp,
/// clip.cpp).
std::span<const ModelSpec> catalog();

/// By name ("gpt3-175b", "llama2-70b", ...), case-insensitively. Throws Error naming the nearest names.
const ModelSpec& find(std::string_view name);

/// Reads a Hugging Face config.json: architectures or model_type choose the family (gpt2, gpt_neox, llama,
/// mistral, qwen2, qwen3, mixtral, qwen3_moe, bert). Throws Error with file and JSON pointer for missing or wrong keys
/// and for architectures that are not supported (multi-latent attention, encoder-decoder): never guesses.
ModelSpec import_hugging_face(const std::filesystem::path& file);

}  // namespace orrery::models
