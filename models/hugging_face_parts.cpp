// Keys, and the defaults of absent ones, are those of transformers' configuration_<family>.py. A key that would change
// the model in a way that ModelSpec cannot express is refused, never ignored.
#include "models/hugging_face_parts.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::models {

std::uint32_t even_head_dim(const ConfigReader& config, const Keys& keys, const ModelSpec& spec) {
    if (spec.hidden % spec.heads != 0)
        config.fail(keys.heads, fmt::format("{} does not divide {} {}", spec.heads, keys.hidden, spec.hidden),
                    "a number of heads that divides it, or head_dim where the family has it");
    return spec.hidden / spec.heads;
}

ModelSpec common(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec;
    spec.layers = config.count(keys.layers);
    spec.hidden = config.count(keys.hidden);
    const auto stated = [&](std::string_view key, std::uint32_t usual) {
        return usual == 0 ? config.count(key) : config.optional_count(key).value_or(usual);
    };
    spec.heads = spec.kv_heads = stated(keys.heads, keys.usual_heads);
    spec.vocab = stated("vocab_size", keys.usual_vocab);
    return spec;
}

std::uint32_t times_hidden(const ConfigReader& config, std::string_view key, const ModelSpec& spec,
                           std::uint32_t ratio) {
    if (spec.hidden > UINT32_MAX / ratio)
        config.fail(key, fmt::format("{} is too large", key == "expansion_ratio" ? ratio : spec.hidden),
                    "a smaller one");
    return ratio * spec.hidden;
}

double dropout(const ConfigReader& config, std::initializer_list<std::string_view> keys, double otherwise) {
    const double first = config.probability(*keys.begin(), otherwise);
    for (const auto key : keys)
        if (const double rate = config.probability(key, otherwise); rate != first)
            config.fail(key, fmt::format("{} differs from {} {}", rate, *keys.begin(), first),
                        "models have one dropout rate here: give both keys the same");
    return first;
}

void check_activation(const ConfigReader& config, std::string_view key, std::string_view otherwise, bool gated) {
    const std::string found = config.text(key).value_or(std::string(otherwise));
    const bool known = gated ? found == "silu" || found == "swish" : found == "quick_gelu" || found.starts_with("gelu");
    if (!known)
        config.fail(key, fmt::format("activation \"{}\" is not supported", found),
                    gated ? "silu" : "gelu, gelu_new, ...");
}

void refuse_if(const ConfigReader& config, std::string_view key, bool otherwise, bool refused) {
    if (config.flag(key, otherwise) == refused)
        config.fail(key, fmt::format("{} is not supported", refused), fmt::format("{} alone is", !refused));
}

ModelSpec read_gated(const ConfigReader& config, const Keys& keys, ActivationKind activation) {
    ModelSpec spec = common(config, keys);
    spec.family = Family::llama;
    spec.ffn = config.count(keys.ffn);
    spec.gated = true;
    spec.activation = activation;
    spec.linear_bias = spec.qkv_bias = false;
    spec.norm = NormKind::rmsnorm;
    spec.position = PositionKind::rope;
    spec.tied_embeddings = config.flag("tie_word_embeddings", false);
    spec.dropout = config.probability("attention_dropout", 0.0);
    if (spec.dropout > 0.0)
        config.fail("attention_dropout", fmt::format("{}: dropout in attention alone is not supported", spec.dropout),
                    "set it to 0");
    if (activation == ActivationKind::silu) check_activation(config, "hidden_act", "silu", true);
    return spec;
}

std::uint32_t kv_heads(const ConfigReader& config, std::uint32_t heads) {
    return config.has_null("num_key_value_heads") ? heads : config.count("num_key_value_heads");
}

std::uint32_t stated_head_dim(const ConfigReader& config, const Keys& keys, const ModelSpec& spec) {
    const auto head_dim = config.optional_count("head_dim");
    return head_dim ? *head_dim : even_head_dim(config, keys, spec);
}

void check_layer_types(const ConfigReader& config, std::uint32_t pattern, std::string_view windowed) {
    const std::vector<std::string> layers = config.texts("layer_types");
    for (std::size_t i = 0; i < layers.size(); ++i)
        if (layers[i] != ((i + 1) % pattern != 0 ? windowed : "full_attention"))
            config.fail("layer_types",
                        fmt::format("other than {} in all but each {}th layer is not supported", windowed, pattern),
                        fmt::format("{} and full_attention in this turn", windowed));
}

}  // namespace orrery::models
