// Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685): y = W x + B A x, of which W is frozen. Of a layer that is
// split by its outputs B is, and of one that is split by its inputs A, as in NeMo's ParallelLinearAdapter.
//
// Frozen weights have no gradients and no states: their products of the backward that form gradients of weights fall
// away, and with them the inputs that those need. Priced, not yet executed.
#include <algorithm>
#include <string_view>

#include "strategies/partition/sharder.hpp"
#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;
using kernels::GemmPass;
using kernels::Pointwise;
using kernels::PointwiseKind;
using Works = std::vector<Work>;

bool has_adapter(std::string_view piece, LoraTargets targets) {
    if (piece == "qkv") return true;
    if (piece == "projection") return targets != LoraTargets::qkv;
    return (piece == "up" || piece == "down") && targets == LoraTargets::all_linear;
}

/// The product itself, among casts and collectives.
Works::iterator product(Works& works, bool backward) {
    return std::ranges::find_if(works, [&](const Work& work) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        const auto* gemm = kernel == nullptr ? nullptr : std::get_if<Gemm>(kernel);
        return gemm != nullptr && (gemm->pass == GemmPass::data_gradient) == backward;
    });
}

/// Nobody takes the gradient of what it works on.
void forget(Piece& piece) {
    piece.backward.clear();
    piece.saved_bytes = 0;
}

void freeze(Piece& piece) {
    std::erase_if(piece.backward, [](const Work& work) { return work.of_weights; });
    piece.frozen_parameters = piece.parameters;
    piece.frozen_expert_parameters = piece.expert_parameters;
    piece.parameters = piece.replicated_parameters = piece.expert_parameters = 0;
    piece.saved_bytes -= piece.weight_saved_bytes;
    piece.input_bytes -=
        std::min(piece.input_bytes, piece.weight_saved_bytes);  // a product's; others still need theirs
    piece.weight_saved_bytes = piece.output_gradient_bytes = 0;
    if (piece.name == "embedding") forget(piece);
}

/// What has no gradient cannot be executed yet.
void freeze_weights(LayerFlow& flow) {
    flow.complete = false;
    for (Parameter& parameter : flow.parameters) parameter.trained = false;
}

/// What an adapter reads is no cast.
std::uint64_t input_in_16_bits(const Plan& plan, const Piece& piece) {
    constexpr std::uint64_t some = 16;  // elements, whose casts are whole bytes
    return piece.weight_saved_bytes * some * kernels::size_of(activation_dtype(plan)) /
           kept_input_bytes(plan, some, piece.name == "projection");
}

/// Whether an adapter of the projection finds what attention keeps of its results: as long as that is there.
bool shares_results(const Plan& plan) {
    const bool whole = schedule_of(plan.strategy.schedule).backwards == Backwards::whole;
    return attention_keeps_results(plan) && !runs_attention_again(plan) && whole;
}

/// Whether attention's backward needs of a frozen projection what it took, which nobody else keeps.
bool needs_results(const Plan& plan) {
    return plan.training.fused_attention && !attention_keeps_results(plan) && !runs_attention_again(plan) &&
           !exchanges_heads(plan);
}

/// rank: of the adapter. Its products are in the format of activations, beside fp8 ones too.
void add_adapter(Piece& piece, const Plan& plan, std::uint32_t rank, std::uint64_t input_bytes) {
    const kernels::Dtype dtype = activation_dtype(plan);
    const auto forward = product(piece.forward, false);
    const Gemm base = std::get<Gemm>(std::get<kernels::Kernel>(forward->what));
    const auto gemm = [&](std::uint32_t m, std::uint32_t n, std::uint32_t k, GemmPass pass) {
        return Gemm{dtype, 1, m, n, k, pass};
    };
    const auto add = [&](std::uint32_t columns) { return Pointwise{PointwiseKind::add, dtype, base.m, columns}; };
    const auto weights = [](const char* name, const Gemm& product) {
        return Work{.name = name, .what = product, .of_weights = true};
    };
    piece.forward.insert(forward + 1, {{"adapter in", gemm(base.m, rank, base.k, GemmPass::forward)},
                                       {"adapter out", gemm(base.m, base.n, rank, GemmPass::forward)},
                                       {"add adapter", add(base.n)}});
    const auto backward = product(piece.backward, true);
    piece.backward.insert(backward + 1,
                          {weights("adapter out wgrad", gemm(rank, base.n, base.m, GemmPass::weight_gradient)),
                           {"adapter out dgrad", gemm(base.m, rank, base.n, GemmPass::data_gradient)},
                           weights("adapter in wgrad", gemm(base.k, rank, base.m, GemmPass::weight_gradient)),
                           {"adapter in dgrad", gemm(base.m, base.k, rank, GemmPass::data_gradient)},
                           {"add adapter gradient", add(base.k)}});
    const bool split_by_inputs = piece.name == "projection" || piece.name == "down";
    const std::uint64_t inner = std::uint64_t{base.m} * rank * kernels::size_of(dtype);
    piece.parameters = std::uint64_t{rank} * (std::uint64_t{base.k} + base.n);
    piece.replicated_parameters = std::uint64_t{rank} * (split_by_inputs ? base.n : base.k);
    piece.saved_bytes += input_bytes + inner;
    piece.weight_saved_bytes = input_bytes + inner;
    piece.output_gradient_bytes = std::uint64_t{base.m} * base.n * kernels::size_of(dtype);
}

}  // namespace

void train_adapters_alone(ShardedLayer& layer, const Plan& plan) {
    freeze_weights(layer.flow);
    const bool is_input = layer.pieces.front().name == "embedding";
    for (Piece& piece : layer.pieces) {
        const bool of_attention = piece.name == "projection";
        const std::uint64_t input_bytes = input_in_16_bits(plan, piece);
        freeze(piece);
        if (has_adapter(piece.name, plan.training.lora_targets))
            add_adapter(piece, plan, plan.training.lora_rank, of_attention && shares_results(plan) ? 0 : input_bytes);
        else if (of_attention && needs_results(plan))
            piece.saved_bytes += input_bytes;
        if (is_input) forget(piece);
    }
}

void freeze_all(ShardedLayer& layer) {
    freeze_weights(layer.flow);
    for (Piece& piece : layer.pieces) {
        freeze(piece);
        forget(piece);
    }
}

}  // namespace orrery::strategies
