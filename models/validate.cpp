// What a model's hyper-parameters must satisfy before operators are made of them.
#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/error.hpp"
#include "models/families.hpp"
#include "models/limits.hpp"
#include "models/model_fields.hpp"

namespace orrery::models {

namespace {

/// Of all heads together. With the ranges of the fields every count fits 64 bits: 8,192 dense layers of at most
/// 2^20 x (4 x 2^22 + 3 x 2^20) parameters are 1.7e17.
constexpr std::uint64_t most_inner = 1 << 22;

[[noreturn]] void fail(std::string_view key, std::string message, std::string hint) {
    throw Error("", fmt::format("/model/{}", key), std::move(message), std::move(hint));
}

void check_range(std::string_view key, std::uint64_t value, std::uint64_t least, std::uint64_t most) {
    if (value < least || value > most)
        fail(key, fmt::format("{} is out of range", value), fmt::format("a whole number from {} to {}", least, most));
}

/// Every field in its range, and what bounds two of them together.
void check_sizes(const ModelSpec& spec) {
    documents::check_fields(model_fields(), spec, "/model");
    check_range("num_key_value_heads", spec.kv_heads, 1, spec.heads);
    check_range("head_dim", spec.head_dim, 1, most_inner / spec.heads);
}

std::string divisors_around(std::uint32_t value, std::uint32_t of) {
    std::uint32_t below = value, above = value;
    while (below > 1 && of % below != 0) --below;
    while (above < of && of % above != 0) ++above;
    return fmt::format("nearest legal values: {}, {}", below, above);
}

void check_attention(const ModelSpec& spec) {
    if (spec.heads % spec.kv_heads != 0)
        fail("num_key_value_heads", fmt::format("{} does not divide the {} heads", spec.kv_heads, spec.heads),
             divisors_around(spec.kv_heads, spec.heads));
    if (spec.position == PositionKind::rope && spec.head_dim % 2 != 0)
        fail("head_dim", fmt::format("{} is odd, and rotary positions turn pairs", spec.head_dim), "an even width");
    if (spec.qk_norm && spec.position != PositionKind::rope)
        fail("qk_layernorm", "query and key norms are known only with rotary positions",
             R"(set position_embedding_type to "rope")");
    if (spec.qk_norm_whole && !spec.qk_norm)
        fail("qk_layernorm_whole", "given, but queries and keys have no norms", "set qk_layernorm");
    if (spec.attention_window > 0 && !spec.causal)
        fail("sliding_window", "a sliding window is known only in causal attention", "drop it, or set causal");
    if (spec.window_pattern > 0 && spec.attention_window == 0)
        fail("sliding_window_pattern", "given, but no layer has a window", "give sliding_window, or leave it out");
    if (spec.window_pattern == 1)
        fail("sliding_window_pattern", "1: every layer sees all", "leave out both it and sliding_window");
}

void check_latent_attention(const ModelSpec& spec) {
    const std::uint64_t others = std::uint64_t{spec.q_lora_rank} + spec.rope_head_dim + spec.v_head_dim;
    if (spec.kv_lora_rank == 0) {
        if (others > 0) fail("kv_lora_rank", "0, but the model states sizes of latent attention", "give its width");
        return;
    }
    check_range("v_head_dim", spec.v_head_dim, 1, most_inner / spec.heads);
    check_range("qk_rope_head_dim", spec.rope_head_dim, 1, spec.head_dim);
    if ((spec.head_dim + spec.v_head_dim) % 2 != 0)
        fail("v_head_dim",
             fmt::format("{} beside head_dim {}: their mean is no whole number", spec.v_head_dim, spec.head_dim),
             "two even widths");
    if (spec.kv_heads != spec.heads)
        fail("num_key_value_heads",
             fmt::format("{}, but latent attention has one for each of {}", spec.kv_heads, spec.heads), "leave it out");
    if (spec.position != PositionKind::rope || spec.qk_norm || spec.linear_bias || spec.parallel_residual)
        fail("kv_lora_rank", "latent attention is known with rotary positions, without biases and norms of heads",
             "set position_embedding_type to \"rope\", add_bias_linear, qk_layernorm and use_parallel_residual to "
             "false");
}

void check_positions(const ModelSpec& spec) {
    const bool learned = spec.position == PositionKind::learned;
    if (learned && spec.max_positions == 0)
        fail("max_position_embeddings", "0, but positions are learned", "give the rows of the position table");
    if (!learned && spec.max_positions != 0)
        fail("max_position_embeddings",
             fmt::format("{}, but positions are not learned: there is no table", spec.max_positions),
             R"(drop it, or set position_embedding_type to "learned")");
}

void check_norms(const ModelSpec& spec) {
    if (spec.shared_norm && !spec.parallel_residual)
        fail("shared_norm", "one norm for attention and MLP needs both to read the same input",
             "set use_parallel_residual, or leave it out");
    if (spec.output_norm && (spec.post_norm || spec.parallel_residual))
        fail("output_norm", "norms behind branches are known only without post_norm and a parallel residual",
             "set it to false");
    if (!spec.input_norm && !spec.output_norm)
        fail("input_norm", "false, but no norm stands behind the branches either", "set output_norm, or leave it out");
    if (!spec.input_norm && spec.experts > 0)
        fail("input_norm", "experts are known only behind a norm", "leave it out");
}

void check_structure(const ModelSpec& spec) {
    check_norms(spec);
    if (spec.post_norm && spec.parallel_residual)
        fail("use_parallel_residual", "contradicts post_norm: the first norm needs the attention's residual sum",
             "set one of the two");
    if (spec.mlm_head && spec.causal)
        fail("mlm_head", "a masked-language-model head contradicts causal attention", "set causal to false");
    if (!std::isfinite(spec.dropout) || spec.dropout < 0.0 || spec.dropout >= 1.0)
        fail("dropout", fmt::format("{} is not a probability below 1", spec.dropout), "a number from 0 to below 1");
}

void check_router_groups(const ModelSpec& spec) {
    const Routing routing = spec.routing();
    if (spec.experts % routing.groups != 0)
        fail("n_group", fmt::format("{} groups do not divide {} experts", routing.groups, spec.experts),
             "a divisor of num_experts");
    check_range("topk_group", spec.router_top_groups, 0, routing.groups);
    const std::uint32_t open = spec.experts / routing.groups * routing.top_groups;
    if (spec.experts_per_token > open)
        fail("topk_group",
             fmt::format("{} groups hold {} experts, fewer than the {} that a token is sent to", routing.top_groups,
                         open, spec.experts_per_token),
             "more groups");
}

void check_experts(const ModelSpec& spec) {
    if (spec.experts == 0) {
        const bool stray = spec.experts_per_token + spec.expert_ffn + spec.shared_expert_ffn + spec.moe_layer_freq +
                               spec.dense_layers + spec.moe_layer_offset + spec.expert_latent + spec.router_groups +
                               spec.router_top_groups + (spec.shared_expert_gate ? 1 : 0) >
                           0;
        if (stray) fail("num_experts", "0, but the model states sizes of experts", "give their number");
        return;
    }
    check_range("num_experts_per_tok", spec.experts_per_token, 1, spec.experts);
    check_router_groups(spec);
    check_range("moe_intermediate_size", spec.expert_ffn, 1, most_inner);
    check_range("moe_layer_freq", spec.moe_layer_freq, 1, spec.layers);
    check_range("first_k_dense_replace", spec.dense_layers, 0, spec.layers - 1);
    check_range("moe_layer_offset", spec.moe_layer_offset, 0, spec.moe_layer_freq - 1);
    if (spec.moe_layers() == 0)
        fail("moe_layer_offset", fmt::format("no layer of {} has experts", spec.layers), "a smaller one");
    if (spec.expert_latent > 0 && spec.linear_bias)
        fail("moe_latent_size", "experts on another width are known without biases", "set add_bias_linear to false");
    if (spec.shared_expert_gate && spec.shared_expert_ffn == 0)
        fail("moe_shared_expert_gate", "given, but no MLP is taken by every token",
             "give moe_shared_expert_intermediate_size, or leave it out");
    if (const double all = 3.0 * spec.moe_layers() * spec.experts * spec.hidden * spec.expert_ffn; all > 1e18)
        fail("num_experts", fmt::format("{} experts make {:.3g} parameters: out of range", spec.experts, all),
             "at most 1e18");
    if (spec.post_norm) fail("post_norm", "experts are known only behind a norm", "set it to false");
    if (spec.parallel_residual)
        fail("use_parallel_residual", "experts are known only without a parallel residual", "set it to false");
}

constexpr std::uint32_t most_further_tokens = 16, most_chunk = 4096;  // tokens whose products a scan forms at once

void check_mixers(const ModelSpec& spec) {
    const MambaSpec& mamba = spec.mamba;
    if (spec.layers_of('M') == 0) {
        if (mamba != MambaSpec{})
            fail("ssm_state_size", "given, but no layer has a state-space mixer", "write M for one in the pattern");
        return;
    }
    check_range("ssm_state_size", mamba.state, 1, most_inner);
    check_range("mamba_num_heads", mamba.heads, 1, most_inner);
    check_range("mamba_head_dim", mamba.head_dim, 1, most_inner / mamba.heads);
    check_range("n_groups", mamba.groups, 1, mamba.heads);
    check_range("conv_kernel", mamba.window, 1, most_chunk);
    check_range("chunk_size", mamba.chunk, 1, most_chunk);
    if (mamba.heads % mamba.groups != 0)
        fail("n_groups", fmt::format("{} groups do not divide the {} heads of a mixer", mamba.groups, mamba.heads),
             divisors_around(mamba.groups, mamba.heads));
    if (std::uint64_t{mamba.groups} * mamba.state > most_inner)
        fail("ssm_state_size", fmt::format("{} rows of {} groups are out of range", mamba.state, mamba.groups),
             fmt::format("at most {} together", most_inner));
}

/// Layers of one branch each.
void check_pattern(const ModelSpec& spec) {
    constexpr const char* key = "hybrid_override_pattern";
    const std::string& pattern = spec.layer_pattern;
    if (spec.family != Family::mamba) {
        if (!pattern.empty() || spec.mamba != MambaSpec{})
            fail(key, "only a model of the family mamba has layers of several kinds", R"(set model_type to "mamba")");
        return;
    }
    if (const auto other = pattern.find_first_not_of("M*-E"); other != std::string::npos)
        fail(key, fmt::format("'{}' is no kind of layer", pattern.substr(other, 1)),
             "M a state-space mixer, * attention, - an MLP, E experts, such as \"M-M*-\"");
    if (pattern.size() != spec.layers)
        fail(key, fmt::format("{} letters, but the model has {} layers", pattern.size(), spec.layers),
             "write one for each layer");
    if ((spec.layers_of('E') > 0) != (spec.experts > 0))
        fail(key, spec.experts > 0 ? "no layer has the model's experts" : "a layer has experts, but the model none",
             "give num_experts, and E for each layer that has them");
    check_mixers(spec);
    const bool plain = spec.causal && spec.input_norm && !spec.post_norm && !spec.output_norm &&
                       !spec.parallel_residual && !spec.mlm_head && spec.attention_window == 0;
    if (!plain)
        fail(key, "layers of one branch are known behind a norm each and with causal attention",
             "leave out post_norm, output_norm, use_parallel_residual, mlm_head and sliding_window");
}

void check_further_tokens(const ModelSpec& spec) {
    constexpr const char *key = "num_nextn_predict_layers", *pattern = "mtp_hybrid_override_pattern";
    const bool hybrid = spec.family == Family::mamba;
    if (!spec.further_pattern.empty() && (!hybrid || spec.further_tokens == 0))
        fail(pattern, "given, but no layers of one branch predict further tokens", "leave it out");
    if (spec.further_tokens == 0) return;
    if (!hybrid && spec.family != Family::gpt && spec.family != Family::llama)
        fail(key, fmt::format("a model of the family {} predicts no further tokens", name(spec.family)),
             "leave it out");
    check_range(key, spec.further_tokens, 1, most_further_tokens);
    if (!hybrid) return;
    if (spec.further_pattern.empty() || spec.further_pattern.find_first_not_of(spec.layer_pattern) != std::string::npos)
        fail(pattern, fmt::format("\"{}\" names no layers of the model's own kinds", spec.further_pattern),
             "letters of hybrid_override_pattern, such as \"*E\"");
}

constexpr std::uint32_t least_image = 32, most_image = 4096, most_channels = 4096, most_depth = 1000;
constexpr std::uint64_t most_decoder_layers = most_layers, most_buckets = 1 << 24;

/// The tower of texts, which CLIP has.
void check_text_tower(const ModelSpec& spec) {
    const TextTowerSpec& text = spec.text;
    if (spec.family != Family::clip) {
        if (text != TextTowerSpec{})
            fail("text_hidden_size", fmt::format("{} has no tower of texts", spec.name), "leave it out");
        return;
    }
    check_range("text_num_hidden_layers", text.layers, 1, most_decoder_layers);
    check_range("text_hidden_size", text.hidden, 1, most_inner);
    check_range("text_num_attention_heads", text.heads, 1, text.hidden);
    check_range("text_intermediate_size", text.ffn, 1, most_inner);
    check_range("projection_dim", text.projection, 1, most_inner);
    if (text.hidden % text.heads != 0)
        fail("text_num_attention_heads", fmt::format("{} does not divide {}", text.heads, text.hidden),
             divisors_around(text.heads, text.hidden));
}

/// Transformers over patches.
void check_patches(const ModelSpec& spec) {
    const ImageSpec& image = spec.image;
    check_range("image_size", image.size, least_image, most_image);
    check_range("patch_size", image.patch, 1, image.size);
    check_range("num_channels", image.channels, 1, most_channels);
    if (image.size % image.patch != 0)
        fail("patch_size", fmt::format("{} does not divide an image of {} rows", image.patch, image.size),
             divisors_around(image.patch, image.size));
    if (const std::uint64_t pixels = std::uint64_t{image.patch} * image.patch * image.channels; pixels > most_inner)
        fail("patch_size", fmt::format("{} numbers of a patch are out of range", pixels),
             fmt::format("at most {}: smaller patches", most_inner));
    const bool alone = spec.family == Family::vit;
    if (alone && spec.max_positions != image.tokens())
        fail("max_position_embeddings",
             fmt::format("{}, but an image is {} tokens: its patches, and one for all of it", spec.max_positions,
                         image.tokens()),
             "leave it out");
    if (spec != (alone ? with_vit_structure(spec) : with_clip_structure(spec)))
        fail("name", fmt::format("{} has a key that a Transformer over patches does not have", spec.name),
             "only sizes, classes, dropout and the bias of queries, keys and values can be changed");
}

/// Thirteen layers with weights, and three more for each convolution more in the last three stages.
void check_vgg(const ModelSpec& spec) {
    constexpr std::uint32_t least = 13, step = 3, largest = 64;
    check_range("image_size", spec.image.size, least_image, most_image);
    if (spec.layers < least || spec.layers > largest || (spec.layers - least) % step != 0)
        fail("num_hidden_layers", fmt::format("{} layers are no such network", spec.layers), "13, 16 or 19");
    if (spec != with_vgg_structure(spec))
        fail("name", fmt::format("{} has a key that only Transformers have, or another width", spec.name),
             "of a network of the catalog only vocab_size, its classes, can be changed");
}

void check_images(const ModelSpec& spec) {
    check_text_tower(spec);
    if (spec.family == Family::vit || spec.family == Family::clip) return check_patches(spec);
    if (spec.family == Family::vgg) return check_vgg(spec);
    if (spec.family != Family::resnet) {
        if (spec.image != ImageSpec{}) fail("image_size", "a Transformer has no images", "leave it out");
        return;
    }
    check_range("image_size", spec.image.size, least_image, most_image);
    std::uint64_t blocks = 0;
    for (const std::uint32_t depth : spec.image.depths) {
        check_range("depths", depth, 1, most_depth);
        blocks += depth;
    }
    if (blocks != spec.layers)
        fail("num_hidden_layers", fmt::format("{}, but the stages have {} residual blocks", spec.layers, blocks),
             "take a network of the catalog as it is");
    if (spec != with_resnet_structure(spec))
        fail("name", fmt::format("{} has a key that only Transformers have, or another width", spec.name),
             "of a network of the catalog only vocab_size, its classes, can be changed");
}

void check_recurrence(const ModelSpec& spec) {
    const RecurrenceSpec& recurrence = spec.recurrence;
    if (spec.family != Family::transfo_xl) {
        if (recurrence != RecurrenceSpec{})
            fail("mem_len", "only Transformer-XL has a memory and clusters of words", "leave it out");
        return;
    }
    constexpr std::uint32_t most_memory = 1 << 22, most_divisor = 4096;
    check_range("mem_len", recurrence.memory, 1, most_memory);
    check_range("div_val", recurrence.divisor, 1, most_divisor);
    std::uint32_t before = 0;
    for (const std::uint32_t end : recurrence.cutoffs) {
        if (end <= before || end >= spec.vocab)
            fail("cutoffs", fmt::format("{} does not lie between {} and the vocabulary's {}", end, before, spec.vocab),
                 "rising numbers of words below vocab_size");
        before = end;
    }
    const double narrowing = std::pow(recurrence.divisor, recurrence.cutoffs.size());
    if (std::fmod(spec.hidden, narrowing) != 0)
        fail("div_val", fmt::format("{} divided by {} three times is no whole width", spec.hidden, recurrence.divisor),
             "a divisor whose third power divides hidden_size; 1: all are as wide");
    if (spec != with_transformer_xl_structure(spec))
        fail("name", fmt::format("{} has a key that Transformer-XL's structure does not", spec.name),
             "of Transformer-XL its sizes, vocabulary, memory, clusters and dropout can be changed");
}

void check_decoder(const ModelSpec& spec) {
    if (spec.family != Family::t5) {
        if (spec.decoder_layers > 0)
            fail("num_decoder_layers", "only T5 has a decoder beside its encoder", "leave it out");
        return;
    }
    check_range("num_decoder_layers", spec.decoder_layers, 1, most_decoder_layers);
    const bool learned = spec.position == PositionKind::learned;
    check_range("relative_attention_num_buckets", spec.relative_buckets, learned ? 0 : 1, learned ? 0 : most_buckets);
    const bool branches = spec.input_norm && !spec.post_norm && !spec.output_norm && !spec.parallel_residual;
    if (spec.kv_heads != spec.heads || spec.experts > 0 || !branches || spec.causal ||
        !(learned || spec.position == PositionKind::none) || spec.qkv_bias != spec.linear_bias)
        fail("name", "an encoder-decoder of another structure than T5's", "take a model of the catalog as it is");
}

}  // namespace

void validate(const ModelSpec& spec) {
    check_sizes(spec);
    check_attention(spec);
    check_latent_attention(spec);
    check_positions(spec);
    check_structure(spec);
    check_experts(spec);
    check_pattern(spec);
    check_further_tokens(spec);
    check_images(spec);
    check_recurrence(spec);
    check_decoder(spec);
}

void validate_sequence(const ModelSpec& spec, std::uint64_t seq, const std::string& pointer) {
    if (seq == 0) throw Error("", pointer, "0 tokens in a sequence", "a positive number");
    if (spec.takes_images() && seq != spec.image.tokens())
        throw Error("", pointer,
                    fmt::format("{}, but an image is {} token{} of {}", seq, spec.image.tokens(),
                                spec.image.patch > 0 ? "s" : "", spec.name),
                    fmt::format("set it to {}: one image", spec.image.tokens()));
    if (spec.attention_chunk > 0 && seq > spec.attention_chunk)
        throw Error(
            "", pointer,
            fmt::format("{} tokens, but attention over chunks of {} is not modelled", seq, spec.attention_chunk),
            "a sequence of one chunk");
    const bool learned = spec.position == PositionKind::learned && !spec.takes_images();
    if (learned && seq > spec.max_positions)
        throw Error("", pointer,
                    fmt::format("{} tokens, but {} learns {} positions", seq, spec.name, spec.max_positions),
                    "a shorter sequence, or a model with more positions");
}

}  // namespace orrery::models
