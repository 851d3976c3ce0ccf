// Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685): y = W x + B A x, of which W is frozen. Of a layer that is
// split by its outputs B is, and of one that is split by its inputs A, as in NeMo's ParallelLinearAdapter.
//
// Frozen weights have no gradients and no states: their products of the backward that form gradients of weights fall
// away, and with them the inputs that those need. Priced, not yet executed.
#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "strategies/partition/adapter_works.hpp"
#include "strategies/partition/linear_parts.hpp"
#include "strategies/partition/sharder.hpp"
#include "strategies/schedule/schedule.hpp"

namespace orrery::strategies {

namespace {

using kernels::Gemm;

bool has_adapter(std::string_view piece, LoraTargets targets) {
    if (piece == "qkv") return true;
    if (piece == "projection") return targets == LoraTargets::all_linear || targets == LoraTargets::attention;
    return (piece == "up" || piece == "down") && targets == LoraTargets::all_linear;
}

/// Of a product's columns those that have adapters, by adapter.
std::vector<std::uint32_t> adapted(const Piece& piece, const Plan& plan, std::uint32_t columns) {
    const bool values_alone = plan.training.lora_targets == LoraTargets::query_value;
    const models::ModelSpec& model = plan.model;
    if (!plan.training.canonical_lora && !values_alone) return {columns};
    if (piece.name == "up" && model.gated) return {columns / 2, columns / 2};
    if (piece.name != "qkv") return {columns};
    const std::uint64_t heads = model.heads + 2 * model.kv_heads;
    const auto of_keys = static_cast<std::uint32_t>(std::uint64_t{columns} * model.kv_heads / heads);
    const std::uint32_t of_queries = columns - 2 * of_keys;
    if (values_alone) return {of_queries, of_keys};
    return {of_queries, of_keys, of_keys};
}

/// Nobody takes the gradient of what it works on.
void forget(Piece& piece) {
    piece.backward.clear();
    piece.saved_bytes = 0;
}

void freeze(Piece& piece) {
    std::erase_if(piece.backward, [](const Work& work) { return work.of_weights; });
    piece.counts.frozen = piece.counts.trained;
    piece.counts.frozen_experts = piece.counts.experts;
    piece.counts.trained = piece.counts.replicated = piece.counts.experts = 0;
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

/// What an adapter reads and keeps: no cast, and of what tensor ranks hold parts of a sequence of the whole, which is
/// there for the frozen product (NeMo's and Megatron-Bridge's adapters of column-parallel layers take the gathered
/// output of the norm, return_layernorm_output_gathered) and is not gathered again.
std::uint64_t input_in_16_bits(const Plan& plan, const Piece& piece) {
    constexpr std::uint64_t some = 16;  // elements, whose casts are whole bytes
    const bool gathered = plan.strategy.sequence_parallel && plan.strategy.recompute_allgather &&
                          (piece.name == "qkv" || piece.name == "up");
    return piece.weight_saved_bytes * (gathered ? plan.strategy.tensor : 1) * some *
           kernels::size_of(activation_dtype(plan)) / kept_input_bytes(plan, some, piece.name == "projection");
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

void add_adapters(Piece& piece, const Plan& plan, std::uint64_t input_bytes) {
    const kernels::Dtype dtype = activation_dtype(plan);
    const std::uint64_t rank = plan.training.lora_rank;
    const auto forward = product_in(piece.forward, false);
    const Gemm base = std::get<Gemm>(std::get<kernels::Kernel>(forward->what));
    const std::vector<std::uint32_t> parts = adapted(piece, plan, base.n);
    AdapterWorks works(plan);
    for (const std::uint32_t columns : parts) works.add(base, columns, plan.training.lora_rank);
    piece.forward.insert(forward + 1, works.forward().begin(), works.forward().end());
    piece.backward.insert(product_in(piece.backward, true) + 1, works.backward().begin(), works.backward().end());
    if (works.keep_inputs()) input_bytes = parts.size() * works.input_bytes(std::uint64_t{base.m} * base.k);
    const std::uint64_t outputs = std::accumulate(parts.begin(), parts.end(), std::uint64_t{0});
    const std::uint64_t inputs = std::uint64_t{base.k} * parts.size();
    const std::uint64_t inner = std::uint64_t{base.m} * rank * parts.size() * kernels::size_of(dtype);
    const bool split_by_inputs = piece.name == "projection" || piece.name == "down";
    piece.counts.trained = rank * (inputs + outputs);
    piece.counts.replicated = rank * (split_by_inputs ? outputs : inputs);
    piece.saved_bytes += input_bytes + inner;
    piece.weight_saved_bytes = input_bytes + inner;
    piece.output_gradient_bytes = base.m * outputs * kernels::size_of(dtype);
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
            add_adapters(piece, plan, of_attention && shares_results(plan) ? 0 : input_bytes);
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
