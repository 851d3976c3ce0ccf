#include "strategies/partition/linear_parts.hpp"

#include <algorithm>

namespace orrery::strategies {

using models::Dim;

bool is_latent(const models::Linear& op) { return op.out == Dim::latent; }

bool makes_keys(const models::Linear& op) { return op.in == Dim::latent && op.name == "keys_values"; }

std::vector<std::uint64_t> output_parts(const models::Linear& op, const Plan& plan) {
    const models::ModelSpec& spec = plan.model;
    if (op.second_input) return {op.out_features / 2, op.out_features / 2};
    if (op.out == Dim::qkv && spec.text.layers > 0) return std::vector<std::uint64_t>(3, op.out_features / 3);
    if (is_latent(op) && spec.q_lora_rank == 0) return {spec.kv_lora_rank, spec.rope_head_dim};
    if (is_latent(op)) return {spec.q_lora_rank, spec.kv_lora_rank, spec.rope_head_dim};
    if (makes_keys(op)) {
        const std::uint64_t heads = spec.heads;
        return {heads * (spec.head_dim - spec.rope_head_dim), heads * spec.v_head_dim};
    }
    if (op.out == Dim::qkv && spec.kv_lora_rank == 0) {
        const std::uint64_t kv = std::uint64_t{spec.kv_heads} * spec.head_dim;
        return {std::uint64_t{spec.heads} * spec.head_dim, kv, kv};
    }
    if (op.out == Dim::ffn && spec.gated) return {op.out_features / 2, op.out_features / 2};
    if (op.out == Dim::vocab) return {plan.padded_vocab()};
    return {op.out_features};
}

Parameter weight_of(const models::Linear& op, const Plan& plan, bool held) {
    using Split = Parameter::Split;
    const bool column = split_by_tensor(op.out), row = split_by_tensor(op.in);
    Parameter weight{.name = op.shares_embedding ? std::string(word_embedding) : op.name + ".weight",
                     .parts = output_parts(op, plan),
                     .cols = op.in_features,
                     .split = column ? Split::rows
                              : row  ? Split::cols
                                     : Split::none,
                     .replicated = !column && !row,
                     .held = held};
    if (op.out == models::Dim::vocab) weight.real_rows = plan.model.vocab;
    weight.shared_words = op.shares_embedding;
    return weight;
}

Parameter bias_of(const models::Linear& op, const Plan& plan) {
    const bool column = split_by_tensor(op.out);
    return {.name = op.name + ".bias",
            .parts = output_parts(op, plan),
            .split = column ? Parameter::Split::rows : Parameter::Split::none,
            .initial = Initial::zeros,
            .replicated = !column};
}

std::vector<Work>::iterator product_in(std::vector<Work>& works, bool backward) {
    return std::ranges::find_if(works, [&](const Work& work) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        const auto* gemm = kernel == nullptr ? nullptr : std::get_if<kernels::Gemm>(kernel);
        return gemm != nullptr && (gemm->pass == kernels::GemmPass::data_gradient) == backward;
    });
}

bool casts_before_gather(const Training& training) {
    using hardware::Software;
    return training.software == Software::transformer_engine ||
           (training.software == Software::pytorch && training.fp8_recipe == Fp8Recipe::tensorwise);
}

bool next_adds_bias(const LayerStream& stream) {
    if (stream.next == nullptr) return false;
    if (const auto* sum = std::get_if<models::ResidualAdd>(stream.next))
        return sum->dropout && stream.plan.training.kernel_fusion == KernelFusion::full;
    const auto* activation = std::get_if<models::Activation>(stream.next);
    return activation != nullptr && !activation->gated && activation->kind != models::ActivationKind::relu;
}

}  // namespace orrery::strategies
