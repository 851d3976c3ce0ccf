// Hugging Face config.json to ModelSpec: which family a file belongs to, and what no family here can be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/catalog.hpp"
#include "models/hugging_face_families.hpp"
#include "models/operators.hpp"

namespace orrery::models {

namespace {

/// Families in which a key is part of the structure.
enum class Known : std::uint8_t { with_experts, with_latent_attention, with_shared_expert };

struct Structure {
    std::string_view key;  ///< of the file, that announces it
    std::string_view why;
    Known known;
};

/// The first whose key is there is named.
constexpr std::array<Structure, 8> structures{{
    {"kv_lora_rank", "multi-head latent attention is not supported in this family", Known::with_latent_attention},
    {"q_lora_rank", "multi-head latent attention is not supported in this family", Known::with_latent_attention},
    {"first_k_dense_replace", "first layers without experts are not supported in this family",
     Known::with_latent_attention},
    {"shared_expert_intermediate_size", "a gated expert that every token takes is not supported in this family",
     Known::with_shared_expert},
    {"num_local_experts", "mixture-of-experts models of this family are not supported", Known::with_experts},
    {"num_experts", "mixture-of-experts models of this family are not supported", Known::with_experts},
    {"n_routed_experts", "mixture-of-experts models of this family are not supported", Known::with_experts},
    {"moe_intermediate_size", "mixture-of-experts models of this family are not supported", Known::with_experts},
}};

/// What keeps a family out, by a part of its name; the first that fits is named.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> families{{
    {"jamba", "state-space layers"},
    {"mamba", "the first Mamba, or another state-space model"},
    {"rwkv", "recurrent model"},
    {"switchtransformers", "encoder-decoder with experts"},
    {"nllbmoe", "encoder-decoder with experts"},
    {"moe", "mixture of experts"},
    {"dbrx", "mixture of experts"},
    {"grok", "mixture of experts"},
    {"t5", "encoder-decoder"},
    {"bart", "encoder-decoder"},
    {"whisper", "encoder-decoder"},
    {"pegasus", "encoder-decoder"},
    {"marian", "encoder-decoder"},
    {"clip", "two towers, for images and text, of another kind than CLIP"},
    {"llava", "images and text"},
    {"vl", "images and text"},
    {"vit", "Transformer over patches of images, of another kind than ViT"},
    {"deit", "Transformer over patches of images with two first tokens"},
    {"swin", "vision model"},
    {"resnet", "convolutions"},
}};

/// Structures that no operator here stands for, recognised by the keys that announce them.
void refuse_structures(const ConfigReader& config, const Keys& keys) {
    const auto known = [&](Known where) {
        switch (where) {
            case Known::with_experts: return !keys.experts.empty();
            case Known::with_latent_attention: return keys.latent;
            case Known::with_shared_expert: return keys.shared;
        }
        return false;
    };
    for (const Structure& each : structures)
        if (!known(each.known) && config.has(each.key))
            config.fail(each.key, std::string(each.why), "mixtral, qwen3_moe, or a dense model");
    if (config.flag("is_encoder_decoder", false) && !keys.decoder)
        config.fail("is_encoder_decoder", "encoder-decoder models are not supported", "a decoder or an encoder");
}

/// "Qwen2MoeForCausalLM" and "qwen2_moe" both hold "qwen2moe".
std::string letters_of(std::string_view name) {
    std::string letters;
    for (const unsigned char c : name)
        if (std::isalnum(c) != 0) letters += static_cast<char>(std::tolower(c));
    return letters;
}

[[noreturn]] void refuse(const ConfigReader& config, std::string_view key, std::string_view name) {
    const std::string shown(name.substr(0, 64)), letters = letters_of(shown);
    const auto* const known = std::ranges::find_if(
        families, [&](const auto& family) { return letters.find(family.first) != std::string::npos; });
    std::vector<std::string_view> names;
    for (const FamilyReader& reader : family_readers())
        names.push_back(key == "model_type" ? reader.model_type : reader.architecture);
    names.erase(std::unique(names.begin(), names.end()), names.end());  // one type may have several architectures
    config.fail(key,
                fmt::format("\"{}\"{} is not supported", shown,
                            known == families.end() ? "" : fmt::format(" ({})", known->second)),
                fmt::format("nearest known: {}; one of {}", nearest(shown, names, 1).front(), fmt::join(names, ", ")));
}

const FamilyReader& reader_of(const ConfigReader& config) {
    const auto type = config.text("model_type");
    const auto architectures = config.texts("architectures");
    if (!type && architectures.empty())
        config.fail("model_type", "missing, and so is architectures", "give one of the two");
    const auto of = [&](std::string_view FamilyReader::*field, std::string_view key, const std::string& name) {
        const auto found = std::find_if(family_readers().begin(), family_readers().end(),
                                        [&](const FamilyReader& r) { return r.*field == name; });
        if (found == family_readers().end()) refuse(config, key, name);
        return found;
    };
    if (architectures.empty()) return *of(&FamilyReader::model_type, "model_type", *type);
    if (type) of(&FamilyReader::model_type, "model_type", *type);
    const auto chosen = std::ranges::find_if(family_readers(), [&](const FamilyReader& r) {
        return r.architecture == architectures.front() && (!type || r.model_type == *type);
    });
    if (chosen == family_readers().end()) of(&FamilyReader::architecture, "architectures/0", architectures.front());
    if (chosen == family_readers().end())
        config.fail("architectures/0",
                    fmt::format("\"{}\" contradicts model_type \"{}\"", architectures.front(), *type),
                    "give both as the model's own config.json does");
    return *chosen;
}

/// validate() names the keys of a scenario's model; the user wrote those of the family. "" for what the file lacks.
std::string file_pointer(const ConfigReader& config, const std::string& pointer, const FamilyReader& reader) {
    const Keys keys = spelled(config, reader.keys);
    const std::string at = reader.inside.empty() ? "" : fmt::format("/{}", reader.inside);
    const std::array<std::pair<std::string_view, std::string_view>, 6> renamed{
        {{"/model/num_hidden_layers", keys.layers},
         {"/model/hidden_size", keys.hidden},
         {"/model/num_attention_heads", keys.heads},
         {"/model/intermediate_size", keys.ffn},
         {"/model/max_position_embeddings", keys.positions},
         {"/model/num_experts", keys.experts}}};
    for (const auto& [ours, theirs] : renamed)
        if (ours == pointer) return fmt::format("{}/{}", at, theirs);
    const std::string key = pointer.substr(pointer.find_last_of('/') + 1);
    return config.has(key) ? fmt::format("{}/{}", at, key) : at;
}

/// gpt2.json and gpt2/config.json are both "gpt2".
std::string name_of(const std::filesystem::path& file) {
    if (file.stem() != "config") return file.stem().string();
    return std::filesystem::absolute(file).parent_path().filename().string();
}

}  // namespace

ModelSpec import_hugging_face(const std::filesystem::path& file) {
    const ConfigReader whole(file);
    const FamilyReader& reader = reader_of(whole);
    const ConfigReader config = reader.inside.empty() ? whole : whole.object(reader.inside);
    refuse_structures(config, reader.keys);
    ModelSpec spec = reader.read(config, spelled(config, reader.keys));
    spec.name = name_of(file) + (reader.inside.empty() ? "" : " (text)");
    try {
        validate(spec);
    } catch (const Error& error) {
        throw Error(config.file(), file_pointer(config, error.pointer(), reader), error.message(), error.hint());
    }
    return spec;
}

}  // namespace orrery::models
