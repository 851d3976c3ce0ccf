// Decoders with LayerNorm, BERT and T5: Hugging Face config.json to ModelSpec.
// Keys, and the defaults of absent ones, are those of transformers' configuration_<family>.py. A key that would change
// the model in a way that ModelSpec cannot express is refused, never ignored.
#include <fmt/format.h>

#include <array>

#include "models/hugging_face_parts.hpp"

namespace orrery::models {

namespace {

constexpr Keys common_keys{};
constexpr Keys gpt2_keys{
    .layers = "n_layer", .hidden = "n_embd", .heads = "n_head", .ffn = "n_inner", .positions = "n_positions"};
constexpr Keys bloom_keys{.layers = "n_layer", .hidden = "n_embed", .heads = "n_head", .ffn = "", .positions = ""};
constexpr Keys mpt_keys{.layers = "n_layers", .hidden = "d_model", .heads = "n_heads", .ffn = "", .positions = ""};
constexpr Keys opt_keys{.ffn = "ffn_dim"}, falcon_keys{.ffn = "ffn_hidden_size", .positions = ""};
constexpr Keys t5_keys{
    .layers = "num_layers", .hidden = "d_model", .heads = "num_heads", .ffn = "d_ff", .positions = "", .decoder = true};

ModelSpec read_gpt2(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    const auto inner = config.optional_count(keys.ffn);
    spec.ffn = inner ? *inner : times_hidden(config, keys.hidden, spec);
    spec.max_positions = config.count(keys.positions);
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.1);
    check_activation(config, "activation_function", "gelu_new", false);
    refuse_if(config, "add_cross_attention", false, true);
    return spec;
}

/// Attention and MLP read one norm's output; biases in the MLP and in the logits alone.
ModelSpec read_gptj(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    const auto inner = config.optional_count(keys.ffn);
    spec.ffn = inner ? *inner : times_hidden(config, keys.hidden, spec);
    spec.position = PositionKind::rope;
    spec.parallel_residual = spec.shared_norm = spec.bare_projection = spec.logits_bias = true;
    spec.qkv_bias = false;
    spec.tied_embeddings = config.flag("tie_word_embeddings", false);
    spec.dropout = dropout(config, {"resid_pdrop", "embd_pdrop", "attn_pdrop"}, 0.0);
    check_activation(config, "activation_function", "gelu_new", false);
    return spec;
}

/// GPT-3's structure with ReLU; the table of positions has two rows more than positions
/// (OPTLearnedPositionalEmbedding).
ModelSpec read_opt(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    spec.ffn = config.count(keys.ffn);
    spec.max_positions = config.count(keys.positions);
    if (spec.max_positions > UINT32_MAX - 2)
        config.fail(keys.positions, fmt::format("{} is too large", spec.max_positions), "a smaller number");
    spec.max_positions += 2;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.activation = ActivationKind::relu;
    spec.dropout = config.probability("dropout", 0.1);
    spec.hidden_dropout_alone = spec.dropout > 0 && config.probability("attention_dropout", 0.0) == 0;
    if (!spec.hidden_dropout_alone) (void)dropout(config, {"dropout", "attention_dropout"}, 0.0);
    if (const auto found = config.text("activation_function").value_or("relu"); found != "relu")
        config.fail("activation_function", fmt::format("activation \"{}\" is not supported", found), "relu");
    if (config.optional_count("word_embed_proj_dim").value_or(spec.hidden) != spec.hidden)
        config.fail("word_embed_proj_dim", "words of another width than the layers' (OPT 350M) are not supported",
                    fmt::format("{}", spec.hidden));
    refuse_if(config, "do_layer_norm_before", true, false);
    refuse_if(config, "enable_bias", true, false);
    refuse_if(config, "layer_norm_elementwise_affine", true, false);
    return spec;
}

/// Attention and MLP read the same input: behind one norm (7B), or each behind its own (new_decoder_architecture, 40B
/// and 180B); falcon-rw is GPT-3's structure with ALiBi.
ModelSpec read_falcon(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    const auto inner = config.optional_count(keys.ffn);
    spec.ffn = inner ? *inner : times_hidden(config, keys.hidden, spec);
    const bool grouped = config.flag("new_decoder_architecture", false);
    if (grouped)
        spec.kv_heads = config.optional_count("num_kv_heads").value_or(spec.heads);
    else if (config.flag("multi_query", true))
        spec.kv_heads = 1;
    spec.parallel_residual = grouped || config.flag("parallel_attn", true);
    spec.shared_norm =
        spec.parallel_residual && config.optional_count("num_ln_in_parallel_attn").value_or(grouped ? 2 : 1) == 1;
    spec.position = config.flag("alibi", false) ? PositionKind::alibi : PositionKind::rope;
    spec.linear_bias = spec.qkv_bias = config.flag("bias", false);
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"hidden_dropout", "attention_dropout"}, 0.0);
    check_activation(config, "activation", "gelu", false);
    return spec;
}

ModelSpec read_gpt_neox(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    spec.ffn = config.count(keys.ffn);
    spec.position = PositionKind::rope;
    spec.parallel_residual = config.flag("use_parallel_residual", true);
    spec.tied_embeddings = config.flag("tie_word_embeddings", false);
    spec.dropout = dropout(config, {"hidden_dropout", "attention_dropout"}, 0.0);
    check_activation(config, "hidden_act", "gelu", false);
    refuse_if(config, "attention_bias", true, false);
    return spec;
}

/// An MLP four times as wide; ALiBi has no table of positions.
ModelSpec read_bloom(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    spec.ffn = times_hidden(config, keys.hidden, spec);
    spec.position = PositionKind::alibi;
    spec.embedding_norm = true;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"hidden_dropout", "attention_dropout"}, 0.0);
    refuse_if(config, "apply_residual_connection_post_layernorm", false, true);
    return spec;
}

/// ALiBi and no biases, as all published members have it; norms with a weight alone move what RMS norms do.
ModelSpec read_mpt(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.head_dim = even_head_dim(config, keys, spec);
    const std::uint32_t ratio = config.optional_count("expansion_ratio").value_or(4);
    spec.ffn = times_hidden(config, "expansion_ratio", spec, ratio);
    spec.norm = NormKind::rmsnorm;
    spec.position = PositionKind::alibi;
    spec.linear_bias = spec.qkv_bias = false;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"resid_pdrop", "emb_pdrop"}, 0.0);
    refuse_if(config, "no_bias", true, false);
    const ConfigReader attention = config.object("attn_config");
    refuse_if(attention, "alibi", true, false);
    refuse_if(attention, "qk_ln", false, true);
    refuse_if(attention, "prefix_lm", false, true);
    if (attention.probability("attn_pdrop", 0.0) != spec.dropout)
        attention.fail("attn_pdrop", "differs from resid_pdrop",
                       "models have one dropout rate here: give both the same");
    return spec;
}

ModelSpec read_bert(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.family = Family::bert;
    spec.head_dim = even_head_dim(config, keys, spec);
    spec.ffn = config.count(keys.ffn);
    spec.max_positions = config.count(keys.positions);
    spec.token_types = config.optional_count("type_vocab_size").value_or(2);
    spec.causal = false;
    spec.post_norm = spec.embedding_norm = spec.mlm_head = true;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = dropout(config, {"hidden_dropout_prob", "attention_probs_dropout_prob"}, 0.1);
    check_activation(config, "hidden_act", "gelu", false);
    refuse_if(config, "is_decoder", false, true);
    if (const auto kind = config.text("position_embedding_type").value_or("absolute"); kind != "absolute")
        config.fail("position_embedding_type", fmt::format("\"{}\" is not supported", kind), "absolute");
    return spec;
}

/// Encoder and decoder (Raffel et al. 2020); T5 1.1, Flan-T5 and mT5 have a gated MLP.
ModelSpec read_t5(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    spec.family = Family::t5;
    spec.head_dim = config.optional_count("d_kv").value_or(64);
    spec.ffn = config.count(keys.ffn);
    spec.decoder_layers = config.optional_count("num_decoder_layers").value_or(spec.layers);
    spec.relative_buckets = config.optional_count("relative_attention_num_buckets").value_or(32);
    spec.norm = NormKind::rmsnorm;
    spec.position = PositionKind::none;
    spec.activation = ActivationKind::relu;
    spec.linear_bias = spec.qkv_bias = spec.causal = false;
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.dropout = config.probability("dropout_rate", 0.1);
    const std::string found = config.text("feed_forward_proj").value_or("relu");
    spec.gated = found == "gated-gelu";
    if (spec.gated)
        spec.activation = ActivationKind::gelu;
    else if (found != "relu")
        config.fail("feed_forward_proj", fmt::format("\"{}\" is not supported", found),
                    "relu (the first T5), or gated-gelu (T5 1.1, Flan-T5, mT5)");
    return spec;
}

constexpr std::array<FamilyReader, 11> readers{{
    {"gpt2", "GPT2LMHeadModel", gpt2_keys, read_gpt2},
    {"gptj", "GPTJForCausalLM", gpt2_keys, read_gptj},
    {"opt", "OPTForCausalLM", opt_keys, read_opt},
    {"falcon", "FalconForCausalLM", falcon_keys, read_falcon},
    {"gpt_neox", "GPTNeoXForCausalLM", common_keys, read_gpt_neox},
    {"bloom", "BloomForCausalLM", bloom_keys, read_bloom},
    {"mpt", "MPTForCausalLM", mpt_keys, read_mpt},
    {"mpt", "MptForCausalLM", mpt_keys, read_mpt},
    {"bert", "BertForMaskedLM", common_keys, read_bert},
    {"t5", "T5ForConditionalGeneration", t5_keys, read_t5},
    {"mt5", "MT5ForConditionalGeneration", t5_keys, read_t5},
}};

}  // namespace

std::span<const FamilyReader> gpt_readers() { return readers; }

}  // namespace orrery::models
