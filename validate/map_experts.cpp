// Mixture of experts of a row: the model's, and how they are divided.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/layer_frequency.hpp"
#include "validate/map_row.hpp"
#include "validate/nemo_recipes.hpp"
#include "validate/recipes.hpp"

namespace orrery::validate {

namespace {

using models::ModelSpec;

/// The first of these fields that the row holds.
std::optional<std::uint32_t> first_count(const Row& row, std::initializer_list<const char*> paths) {
    for (const char* path : paths)
        if (const auto value = row.count(path)) return value;
    return std::nullopt;
}

/// Experts that every token takes, each as wide as the others.
std::uint32_t shared_experts(const Row& row) {
    const double count = row.number("model.shared_experts").value_or(0);
    return count == 0 ? 0 : *row.count("model.shared_experts");
}

/// Megatron-LM's moe-layer-freq: a number, or a list in which layers without experts come first.
void set_layers(const Row& row, const ModelSpec& known, bool same, ModelSpec& spec) {
    const nlohmann::json* stated = row.find("switches.moe-layer-freq");
    spec.moe_layer_freq = same ? known.moe_layer_freq : 1;
    spec.dense_layers = same ? known.dense_layers : 0;
    if (stated == nullptr) return;
    spec.dense_layers = 0;
    if (stated->is_number()) {
        spec.moe_layer_freq = *row.count("switches.moe-layer-freq");
        return;
    }
    const auto dense = models::first_dense_layers(row.words("switches.moe-layer-freq"));
    if (!dense) throw Skip("experts in an irregular choice of layers are not supported");
    spec.moe_layer_freq = 1;
    spec.dense_layers = *dense;
}

}  // namespace

void map_experts(const Row& row, const models::ModelSpec& known, models::ModelSpec& spec) {
    const std::uint32_t experts = first_count(row, {"model.experts", "switches.num-experts"}).value_or(known.experts);
    if (experts <= 1) {
        spec.experts = spec.experts_per_token = spec.expert_ffn = spec.shared_expert_ffn = spec.moe_layer_freq =
            spec.moe_layer_offset = 0;
        spec.dense_layers = spec.router_groups = spec.router_top_groups = 0;
        if (names_experts(row) || row.number("ep").value_or(1) > 1)
            throw Skip("model dimensions not published: experts");
        return;
    }
    const bool same = known.experts == experts;
    const auto top_k = first_count(row, {"model.topk", "switches.moe-router-topk"});
    if (!top_k && !same) throw Skip("model dimensions not published: topk");
    spec.experts = experts;
    spec.experts_per_token = top_k ? *top_k : known.experts_per_token;
    if (!same) spec.router_groups = spec.router_top_groups = 0;
    spec.router_groups = row.count("switches.moe-router-num-groups").value_or(spec.router_groups);
    spec.router_top_groups = row.count("switches.moe-router-group-topk").value_or(spec.router_top_groups);
    spec.expert_ffn = first_count(row, {"model.moe_ffn", "switches.moe-ffn-hidden-size"})
                          .value_or(same ? known.expert_ffn : spec.ffn);
    const std::uint32_t unprinted =
        same && !row.has("model.shared_experts") ? known.shared_expert_ffn : spec.expert_ffn * shared_experts(row);
    spec.shared_expert_ffn = row.count("switches.moe-shared-expert-intermediate-size").value_or(unprinted);
    set_layers(row, known, same, spec);
}

namespace {

/// Printed, or Megatron-LM's default (allgather) where that ran, or that of most of NVIDIA's performance recipes: flex,
/// which drops no tokens (Megatron-Bridge, perf_recipes). capacity: of an expert, 0 where it takes all that come.
strategies::Dispatcher dispatcher_of_experts(const Row& row, Software software, double capacity) {
    using enum strategies::Dispatcher;
    const std::string printed = row.words("switches.moe-token-dispatcher-type");
    if (printed == "allgather") return allgather;
    if (printed == "alltoall") return alltoall;
    if (printed == "flex") return flex;
    if (software == Software::megatron_core || software == Software::megatron_local) return allgather;
    const bool drops = capacity > 0 || contains(row.words("model.name") + row.id(), "tokendrop");
    return software == Software::nemo && !drops ? flex : alltoall;
}

/// NVIDIA's recipes fuse (moe_permute_fusion), Megatron-LM does when told.
bool fuses_permutation(const Row& row, Software software) {
    return row.flag("switches.moe-permute-fusion")
        .value_or(software == Software::nemo && recipe_fuses_permutation(row));
}

/// The row's own, of which those of whole layers ("full") or steps hold experts that are padded to their capacity; else
/// the recipes' graphs leave out experts, whose number of tokens varies, but for those that pad them: MXFP8 from
/// Megatron-Bridge's release 26.06 on (perf_recipes: cuda_graph_impl full_iteration, moe_paged_stash), of which hybrids
/// with mixers are none (perf_recipes/nemotronh).
strategies::CudaGraphScope graph_scope(const Row& row, const models::ModelSpec& model) {
    using enum strategies::CudaGraphScope;
    if (row.words("switches.cuda-graph-impl") == "full_iteration") return full_iteration;
    switch (printed_graph(row)) {
        case PrintedGraph::full: return full_iteration;
        case PrintedGraph::outside_experts: return outside_experts;
        case PrintedGraph::routers:
        case PrintedGraph::mlps: return routers;
        case PrintedGraph::nothing: break;
    }
    const bool pads = prints_mxfp8(row) && row.words("source.release") >= "26.06" && model.layer_pattern.empty();
    return pads ? full_iteration : outside_experts;
}

}  // namespace

void map_expert_parallelism(const Row& row, Software software, const Parallelism& degrees, strategies::Plan& plan) {
    if (plan.model.experts == 0) return;
    strategies::Strategy& strategy = plan.strategy;
    strategy.expert = degrees.expert;
    const auto split = first_count(row, {"etp", "switches.expert_tp", "switches.expert-tensor-parallel-size"});
    if (split && *split != 1 && *split != strategy.tensor)
        throw Skip("experts split otherwise than the tensor axis are not supported");
    // Not published: Megatron-LM's default, as the rest. More expert ranks than data ranks leave only whole experts.
    strategy.expert_tensor = split.value_or(strategy.expert > strategy.data * strategy.context ? 1 : 0);
    if (strategy.tensor > 1 && !strategy.sequence_parallel)
        throw Skip("experts beside tensor without sequence parallelism are not supported");
    plan.training.expert_capacity = row.number("switches.moe-expert-capacity-factor").value_or(0);
    strategy.dispatcher = dispatcher_of_experts(row, software, plan.training.expert_capacity);
    strategy.overlap_expert_exchanges = row.flag("switches.overlap-moe-expert-parallel-comm").value_or(false);
    plan.training.permute_fusion = fuses_permutation(row, software);
    plan.training.router_fusion = row.flag("switches.moe-router-fusion").value_or(recipe_fuses_router(row));
    plan.training.cuda_graph_scope = graph_scope(row, plan.model);
    plan.training.pad_to_capacity = row.flag("switches.moe-pad-expert-input-to-capacity").value_or(false);
    if (const auto recipe = experts_of_recipe(row)) {
        strategy.dispatcher = recipe->dispatcher;
        plan.training.expert_capacity = recipe->capacity;
        plan.training.pad_to_capacity = true;
    }
    try {
        strategies::validate(plan);  // groups of experts that do not divide the ranks make no mesh
    } catch (const Error& error) {
        throw Skip(fmt::format("refused at {}", error.pointer()));
    }
}

}  // namespace orrery::validate
