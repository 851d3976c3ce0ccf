#include "tests/run/small_models.hpp"

#include <map>
#include <string>

namespace orrery::run {

models::ModelSpec small_gpt() {
    return {.name = "gpt",
            .layers = 4,
            .hidden = 16,
            .heads = 4,
            .kv_heads = 4,
            .head_dim = 4,
            .ffn = 24,
            .vocab = 200,
            .max_positions = 8};
}

models::ModelSpec small_llama() {
    models::ModelSpec spec = small_gpt();
    spec.name = "llama";
    spec.family = models::Family::llama;
    spec.kv_heads = 2;
    spec.gated = true;
    spec.activation = models::ActivationKind::silu;
    spec.tied_embeddings = spec.linear_bias = spec.qkv_bias = false;
    spec.norm = models::NormKind::rmsnorm;
    spec.position = models::PositionKind::rope;
    spec.max_positions = 0;
    return spec;
}

models::ModelSpec small_t5() {
    models::ModelSpec spec = small_gpt();
    spec.name = "t5";
    spec.family = models::Family::t5;
    spec.layers = spec.decoder_layers = 2;
    spec.relative_buckets = 8;
    spec.norm = models::NormKind::rmsnorm;
    spec.position = models::PositionKind::none;
    spec.max_positions = 0;
    spec.linear_bias = spec.qkv_bias = spec.causal = false;
    spec.activation = models::ActivationKind::relu;
    return spec;
}

models::ModelSpec small_megatron_t5() {
    models::ModelSpec spec = small_gpt();
    spec.name = "t5 (Megatron-LM)";
    spec.family = models::Family::t5;
    spec.layers = spec.decoder_layers = 2;
    spec.logits_bias = true;
    spec.causal = false;
    return spec;
}

strategies::Plan plan_of(const models::ModelSpec& spec) {
    strategies::Plan plan;
    plan.model = spec;
    plan.training.seq = 8;
    plan.training.decoder_seq = spec.decoder_layers > 0 ? 6 : 0;
    plan.training.micro_batch = 2;
    plan.training.global_batch = 8;
    plan.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
    plan.training.grad_clip = 0.5;
    return plan;
}

RunSettings fast() {
    RunSettings settings;
    settings.adam.rate = 5e-3;
    return settings;
}

const std::vector<ReferenceStep>& reference_of(const models::ModelSpec& spec) {
    static std::map<std::string, std::vector<ReferenceStep>> references;
    auto& reference = references[spec.name];
    if (reference.empty()) reference = train_reference(plan_of(spec), fast(), steps);
    return reference;
}

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

}  // namespace orrery::run
