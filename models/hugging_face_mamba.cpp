// Models with state-space mixers: Hugging Face config.json to ModelSpec.
// Keys, and the defaults of absent ones, are those of configuration_nemotron_h.py and configuration_mamba2.py. Layers
// that predict further tokens (num_nextn_predict_layers) are left out.
#include <fmt/format.h>

#include <array>
#include <string>

#include "models/hugging_face_parts.hpp"
#include "models/limits.hpp"

namespace orrery::models {

namespace {

constexpr Keys nemotron_keys{.experts = "n_routed_experts"}, mamba2_keys{.heads = "num_heads"};

void read_mixer_parts(const ConfigReader& config, ModelSpec& spec) {
    spec.family = Family::mamba;
    spec.mamba.groups = config.count("n_groups");
    spec.mamba.window = config.optional_count("conv_kernel").value_or(4);
    spec.mamba.chunk = config.count("chunk_size");
    spec.norm = NormKind::rmsnorm;
    spec.position = PositionKind::none;
    spec.linear_bias = spec.qkv_bias = false;
    refuse_if(config, "use_bias", false, true);
    refuse_if(config, "use_conv_bias", true, false);
    refuse_if(config, "mamba_proj_bias", false, true);
}

/// Layers without a routed expert state 0 of them, which count() takes for an error.
bool has_experts(const ModelSpec& spec) { return spec.layer_pattern.find('E') != std::string::npos; }

ModelSpec read_nemotron_h(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    const auto pattern = config.text("hybrid_override_pattern");
    if (!pattern)
        config.fail("hybrid_override_pattern", "missing", "a letter for each layer: M, *, - or E, such as \"M-M*-\"");
    spec.layer_pattern = *pattern;
    spec.mamba.state = config.count("ssm_state_size");
    spec.mamba.heads = config.count("mamba_num_heads");
    spec.mamba.head_dim = config.count("mamba_head_dim");
    read_mixer_parts(config, spec);
    spec.kv_heads = config.count("num_key_value_heads");
    spec.head_dim = config.count(config.has("head_dim") ? "head_dim" : "attention_head_dim");
    spec.ffn = config.count(keys.ffn);
    spec.tied_embeddings = config.flag("tie_word_embeddings", false);
    refuse_if(config, "attention_bias", false, true);
    refuse_if(config, "mlp_bias", false, true);
    spec.activation = ActivationKind::squared_relu;
    if (const auto found = config.text("mlp_hidden_act").value_or("relu2"); found != "relu2")
        config.fail("mlp_hidden_act", fmt::format("activation \"{}\" is not supported", found), "relu2");
    if (!has_experts(spec)) return spec;
    spec.experts = config.count(keys.experts);
    spec.experts_per_token = config.count("num_experts_per_tok");
    spec.expert_ffn = config.count("moe_intermediate_size");
    spec.shared_expert_ffn = config.optional_count("moe_shared_expert_intermediate_size").value_or(0);
    spec.expert_latent = config.optional_count("moe_latent_size").value_or(0);
    spec.moe_layer_freq = 1;
    return spec;
}

/// Mixers alone; their heads and inner width stand for attention's and the MLP's, of which there are none.
ModelSpec read_mamba2(const ConfigReader& config, const Keys& keys) {
    ModelSpec spec = common(config, keys);
    if (spec.layers <= most_layers) spec.layer_pattern = std::string(spec.layers, 'M');
    spec.mamba.state = config.count("state_size");
    spec.mamba.heads = spec.heads;
    spec.mamba.head_dim = spec.head_dim = config.count("head_dim");
    read_mixer_parts(config, spec);
    spec.ffn = times_hidden(config, "expand", spec, config.optional_count("expand").value_or(2));
    if (spec.mamba.inner() != spec.ffn)
        config.fail(keys.heads,
                    fmt::format("{} of {} columns are not the mixer's {}", spec.heads, spec.head_dim, spec.ffn),
                    "expand x hidden_size / head_dim");
    spec.activation = ActivationKind::silu;
    spec.tied_embeddings = config.flag("tie_word_embeddings", false);
    refuse_if(config, "rms_norm", true, false);
    if (const auto found = config.text("hidden_act").value_or("silu"); found != "silu")
        config.fail("hidden_act", fmt::format("activation \"{}\" is not supported", found), "silu");
    return spec;
}

constexpr std::array<FamilyReader, 2> readers{{
    {"nemotron_h", "NemotronHForCausalLM", nemotron_keys, read_nemotron_h},
    {"mamba2", "Mamba2ForCausalLM", mamba2_keys, read_mamba2},
}};

}  // namespace

std::span<const FamilyReader> mamba_readers() { return readers; }

}  // namespace orrery::models
