#include "scenarios/model_section.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "documents/document.hpp"
#include "models/catalog.hpp"
#include "models/model_fields.hpp"
#include "models/operators.hpp"
#include "scenarios/scenario.hpp"

namespace orrery::scenarios {

namespace {

using documents::Reader;
using models::Family;
using models::ModelSpec;
using models::NormKind;
using models::PositionKind;

/// What a family's published members have in common; every field can be overridden.
ModelSpec family_defaults(const Reader& reader) {
    ModelSpec spec;
    if (const auto word = reader.choice("model_type")) spec.family = static_cast<Family>(word->value);
    if (spec.family == Family::llama) {
        spec.gated = true;
        spec.activation = models::ActivationKind::silu;
        spec.tied_embeddings = spec.linear_bias = spec.qkv_bias = false;
        spec.norm = NormKind::rmsnorm;
        spec.position = PositionKind::rope;
    } else if (spec.family == Family::bert) {
        spec.causal = false;
        spec.post_norm = spec.embedding_norm = spec.mlm_head = true;
        spec.token_types = 2;
        spec.dropout = 0.1;
    } else if (spec.family == Family::t5) {
        spec.causal = false;
        spec.dropout = 0.1;
    } else if (spec.family == Family::transfo_xl) {
        spec.activation = models::ActivationKind::relu;
        spec.post_norm = true;
        spec.qkv_bias = false;
        spec.position = PositionKind::none;
        spec.dropout = 0.1;
    } else if (spec.family == Family::vit || spec.family == Family::clip) {
        constexpr std::uint32_t colours = 3;
        spec.causal = spec.tied_embeddings = false;
        spec.image.channels = colours;
    } else if (spec.family == Family::mamba) {
        spec.tied_embeddings = spec.linear_bias = spec.qkv_bias = false;
        spec.norm = NormKind::rmsnorm;
        spec.position = PositionKind::none;
    }
    return spec;
}

/// Sets what the reader states; a name is not laid over, since the base has its own.
void lay_over(ModelSpec& spec, const Reader& reader) {
    std::string name = std::move(spec.name);
    documents::read_fields(reader, models::model_fields(), spec);
    spec.name = std::move(name);
}

/// 0 experts make the model dense; Megatron-LM's defaults otherwise: two experts a token, in every layer, of the
/// MLP's width.
void derive_experts(ModelSpec& spec, const ModelSpec& base, bool width_follows) {
    if (spec.experts == 0 && base.experts > 0) {
        spec.experts_per_token = spec.expert_ffn = spec.shared_expert_ffn = spec.moe_layer_freq = spec.dense_layers =
            spec.moe_layer_offset = spec.expert_latent = 0;
        spec.shared_expert_gate = false;
    }
    if (spec.experts == 0) return;
    if (spec.experts_per_token == 0) spec.experts_per_token = 2;
    if (spec.moe_layer_freq == 0) spec.moe_layer_freq = 1;
    if (width_follows) spec.expert_ffn = spec.ffn;
}

/// Widths that the base derives from others follow an override of those.
void derive_widths(ModelSpec& spec, const ModelSpec& base, const Reader& reader) {
    const auto follows = [&reader](std::string_view key, bool derived) { return derived && !reader.has(key); };
    if (follows("num_key_value_heads", base.kv_heads == base.heads)) spec.kv_heads = spec.heads;
    if (follows("head_dim", base.head_dim * base.heads == base.hidden)) {
        if (spec.hidden % spec.heads != 0) {
            throw Error(reader.file(), reader.pointer("num_attention_heads"),
                        fmt::format("{} heads do not divide the hidden size {}", spec.heads, spec.hidden),
                        "choose a divisor, or state head_dim");
        }
        spec.head_dim = spec.hidden / spec.heads;
    }
    if (follows("intermediate_size", base.ffn == 4 * base.hidden)) spec.ffn = 4 * spec.hidden;
    const auto usual = [](bool gated) { return gated ? models::ActivationKind::silu : models::ActivationKind::gelu; };
    if (follows("hidden_act", base.activation == usual(base.gated) && spec.gated != base.gated))
        spec.activation = usual(spec.gated);
    derive_experts(spec, base, follows("moe_intermediate_size", base.expert_ffn == base.ffn || base.experts == 0));
    // Of images as many as there are patches, and one.
    if (spec.family == Family::vit && !reader.has("max_position_embeddings")) spec.max_positions = spec.image.tokens();
    if (follows("text_intermediate_size", base.text.ffn == 4 * base.text.hidden)) spec.text.ffn = 4 * spec.text.hidden;
    // Hugging Face states max_position_embeddings for rotary positions too; only learned ones have a table.
    if (spec.position != PositionKind::learned) spec.max_positions = 0;
    // Megatron-LM's T5 has learned positions in place of the catalog's biases.
    if (spec.position == PositionKind::learned && !reader.has("relative_attention_num_buckets"))
        spec.relative_buckets = 0;
}

/// A model that no catalog knows: the sizes that nothing implies must be stated.
ModelSpec all_fields(const Reader& reader) {
    ModelSpec base = family_defaults(reader);
    base.name = reader.text("name", "custom");
    for (const std::string_view key :
         {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "intermediate_size"}) {
        const bool implied = key == "intermediate_size" && !reader.boolean("swiglu", base.gated);  // 4 x hidden_size
        if (implied || reader.has(key)) continue;
        throw Error(reader.file(), reader.pointer(key), fmt::format("the key \"{}\" is missing in \"model\"", key),
                    "add it, or name a model of the catalog: see `orrery list models`");
    }
    return base;
}

/// The catalog's entry when the name is known. An unknown name beside other fields only labels them.
ModelSpec by_name(const Reader& reader) {
    const std::string name = reader.text("name");
    try {
        return models::find(name);
    } catch (const Error& error) {
        if (reader.has("num_hidden_layers") && reader.has("hidden_size")) return all_fields(reader);
        throw Error(reader.file(), reader.pointer("name"), error.message(),
                    error.hint() + "; or state num_hidden_layers, hidden_size, num_attention_heads and vocab_size");
    }
}

ModelSpec from_hugging_face(const Reader& reader) {
    const std::filesystem::path named = reader.text("hugging_face");
    if (reader.has("name")) {
        throw Error(reader.file(), reader.pointer("name"),
                    fmt::format("\"{}\" and a Hugging Face file both name the model", reader.text("name")),
                    "keep one of \"name\" and \"hugging_face\"");
    }
    const std::filesystem::path beside = std::filesystem::path(reader.file()).parent_path() / named;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(beside, ignored)) {
        throw Error(reader.file(), reader.pointer("hugging_face"),
                    fmt::format("there is no file '{}'", beside.string()),
                    "write the path of a config.json, relative to the scenario's folder");
    }
    (void)documents::read_document(
        beside);  // size, encoding and repeated keys, before the importer looks at the content
    return models::import_hugging_face(beside);
}

ModelSpec base_model(const Reader& reader) {
    if (reader.has("hugging_face")) return from_hugging_face(reader);
    return reader.has("name") ? by_name(reader) : all_fields(reader);
}

}  // namespace

models::ModelSpec read_model(const documents::Reader& reader) {
    const ModelSpec base = base_model(reader);
    if (base.layers != 0 && reader.has("model_type")) {
        throw Error(reader.file(), reader.pointer("model_type"),
                    fmt::format("\"{}\" cannot be set: {} has its family", reader.choice("model_type", ""), base.name),
                    "leave it out");
    }
    ModelSpec spec = base;
    lay_over(spec, reader);
    derive_widths(spec, base, reader);
    if (spec.position == PositionKind::learned && spec.max_positions == 0) {
        throw Error(reader.file(), reader.pointer("max_position_embeddings"),
                    "the key \"max_position_embeddings\" is missing in \"model\"",
                    "add it: learned positions need the number of rows of their table");
    }
    models::validate(spec);
    return spec;
}

}  // namespace orrery::scenarios
