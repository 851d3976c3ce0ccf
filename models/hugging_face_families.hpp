// One function per family of Hugging Face models: its keys into a ModelSpec.
#pragma once

#include <span>
#include <string_view>

#include "models/config_reader.hpp"
#include "models/model_spec.hpp"

namespace orrery::models {

/// The keys whose names differ between families, as a family's own files spell them. Every family also reads the
/// spellings below, as transformers does (attribute_map).
struct Keys {
    std::string_view layers = "num_hidden_layers", hidden = "hidden_size", heads = "num_attention_heads",
                     ffn = "intermediate_size", positions = "max_position_embeddings";
    std::string_view experts = "";  ///< empty: the family has none
    bool latent = false;            ///< has latent attention, and first layers without experts
    bool shared = false;            ///< has an expert that every token takes, weighted
    bool decoder = false;           ///< has a decoder beside an encoder
    /// What transformers' class takes where published files do not say; 0: they do.
    std::uint32_t usual_heads = 0, usual_kv_heads = 0, usual_vocab = 0;
};

/// A family's model_type, the one architecture of it that is supported, and the function that reads it.
struct FamilyReader {
    std::string_view model_type, architecture;
    Keys keys;
    ModelSpec (*read)(const ConfigReader&, const Keys& keys);
    std::string_view inside = {};  ///< the object of the file that describes the language model, beside others
};

/// Of all families; of decoders with LayerNorm (and BERT, T5), with RMSNorm and a gated MLP, with experts,
/// with state-space mixers, over images.
std::span<const FamilyReader> family_readers();
std::span<const FamilyReader> gpt_readers();
std::span<const FamilyReader> llama_readers();
std::span<const FamilyReader> expert_readers();
std::span<const FamilyReader> mamba_readers();
std::span<const FamilyReader> vision_readers();

/// The family's keys as this file spells them: where its own spelling is absent and the common one is there, that.
Keys spelled(const ConfigReader& config, const Keys& own);

}  // namespace orrery::models
