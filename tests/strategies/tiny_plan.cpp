#include "tests/strategies/tiny_plan.hpp"

#include <gtest/gtest.h>

#include <variant>

#include "base/error.hpp"

namespace orrery::strategies {

models::ModelSpec tiny_gpt() {
    return {.name = "tiny-gpt",
            .family = models::Family::gpt,
            .layers = 4,
            .hidden = 64,
            .heads = 4,
            .kv_heads = 4,
            .head_dim = 16,
            .ffn = 256,
            .vocab = 1000,
            .max_positions = 128,
            .dropout = 0.1};
}

models::ModelSpec tiny_llama() {
    models::ModelSpec spec = tiny_gpt();
    spec.name = "tiny-llama";
    spec.family = models::Family::llama;
    spec.kv_heads = 2;
    spec.ffn = 192;
    spec.max_positions = 0;
    spec.gated = true;
    spec.activation = models::ActivationKind::silu;
    spec.tied_embeddings = spec.linear_bias = spec.qkv_bias = false;
    spec.norm = models::NormKind::rmsnorm;
    spec.position = models::PositionKind::rope;
    spec.dropout = 0;
    return spec;
}

models::ModelSpec tiny_bert() {
    models::ModelSpec spec = tiny_gpt();
    spec.name = "tiny-bert";
    spec.family = models::Family::bert;
    spec.token_types = 2;
    spec.causal = false;
    spec.post_norm = spec.mlm_head = spec.embedding_norm = true;
    return spec;
}

models::ModelSpec latent_llama() {
    models::ModelSpec spec = tiny_llama();
    spec.name = "latent-llama";
    spec.kv_heads = spec.heads;
    spec.q_lora_rank = 48;
    spec.kv_lora_rank = 32;
    spec.head_dim = 24;
    spec.rope_head_dim = 8;
    spec.v_head_dim = 16;
    return spec;
}

Plan tiny_plan(std::uint32_t tensor, std::uint32_t pipeline, std::uint32_t data) {
    Plan plan;
    plan.model = tiny_gpt();
    plan.strategy.tensor = tensor;
    plan.strategy.pipeline = pipeline;
    plan.strategy.data = data;
    plan.training.seq = 128;
    plan.training.micro_batch = 2;
    plan.training.global_batch = 2 * 4 * data;
    plan.training.fused_attention = false;
    return plan;
}

Plan moe_plan(std::uint32_t tensor, std::uint32_t pipeline, std::uint32_t data, std::uint32_t expert) {
    Plan plan = tiny_plan(tensor, pipeline, data);
    plan.model = tiny_llama();
    plan.model.experts = 8;
    plan.model.experts_per_token = 2;
    plan.model.expert_ffn = 96;
    plan.model.moe_layer_freq = 1;
    plan.strategy.expert = expert;
    plan.strategy.sequence_parallel = tensor > 1;
    return plan;
}

std::string refused_at(const Plan& plan) {
    try {
        validate(plan);
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty()) << error.message();
        return error.pointer();
    }
    return "accepted";
}

Exchanged exchanged(const Program& program, std::optional<AxisSet> axes) {
    Exchanged sums;
    for (const Op& op : program.ops)
        if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && (!axes || c->group == *axes)) {
            auto& [calls, bytes] = sums[c->kind];
            ++calls;
            bytes += c->bytes;
        }
    return sums;
}

double kernel_flops(const StepProgram& step) {
    const StepProgram flat = unrolled(step);
    double sum = 0;
    for (const Program& program : flat.programs)
        for (const Op& op : program.ops)
            if (const auto* compute = std::get_if<Compute>(&op.what))
                sum += kernels::flops(flat.kernels[compute->kernel]);
    return sum;
}

}  // namespace orrery::strategies
