#include "tests/run/layer_models.hpp"

#include "tests/run/small_models.hpp"

namespace orrery::run {

using models::ActivationKind;
using models::ModelSpec;

namespace {

ModelSpec of(ModelSpec spec, const char* name, void (*change)(ModelSpec&)) {
    spec.name = name;
    change(spec);
    return spec;
}

}  // namespace

std::vector<ModelSpec> layer_models() {
    return {
        of(small_llama(), "qk norms (Qwen3)", [](ModelSpec& s) { s.qk_norm = true; }),
        of(small_llama(), "output norms (Gemma 2)",
           [](ModelSpec& s) {
               s.output_norm = true;
               s.activation = ActivationKind::gelu;
               s.tied_embeddings = true;
           }),
        of(small_llama(), "output norms alone (OLMo 2)",
           [](ModelSpec& s) {
               s.input_norm = false;
               s.output_norm = true;
           }),
        of(small_llama(), "gated ReLU", [](ModelSpec& s) { s.activation = ActivationKind::relu; }),
        of(small_gpt(), "ReLU (OPT)", [](ModelSpec& s) { s.activation = ActivationKind::relu; }),
        of(small_llama(), "squared ReLU (Nemotron)",
           [](ModelSpec& s) {
               s.gated = false;
               s.activation = ActivationKind::squared_relu;
           }),
        of(small_gpt(), "SiLU", [](ModelSpec& s) { s.activation = ActivationKind::silu; }),
        of(small_gpt(), "parallel residual (GPT-NeoX)", [](ModelSpec& s) { s.parallel_residual = true; }),
        of(small_gpt(), "parallel residual behind one norm (GPT-J)",
           [](ModelSpec& s) {
               s.parallel_residual = s.shared_norm = s.bare_projection = s.logits_bias = true;
               s.tied_embeddings = s.qkv_bias = false;
               s.position = models::PositionKind::rope;
               s.max_positions = 0;
           }),
        of(small_gpt(), "post-norm (BERT)",
           [](ModelSpec& s) {
               s.post_norm = s.embedding_norm = s.mlm_head = true;
               s.causal = false;
           }),
    };
}

ModelSpec small_latent() {
    return of(small_llama(), "latent attention (DeepSeek-V3)", [](ModelSpec& s) {
        s.kv_heads = s.heads;
        s.q_lora_rank = 10;
        s.kv_lora_rank = 6;
        s.head_dim = 8;
        s.rope_head_dim = 2;
        s.v_head_dim = 4;
    });
}

ModelSpec small_latent_lite() {
    return of(small_latent(), "latent attention of whole queries", [](ModelSpec& s) { s.q_lora_rank = 0; });
}

ModelSpec small_latent_experts() {
    return of(small_latent(), "latent attention before experts", [](ModelSpec& s) {
        s.experts = 4;
        s.experts_per_token = 2;
        s.expert_ffn = 10;
        s.shared_expert_ffn = 6;
        s.moe_layer_freq = s.dense_layers = 1;
    });
}

}  // namespace orrery::run
