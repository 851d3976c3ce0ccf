#include "validate/recipes.hpp"

#include <algorithm>
#include <string_view>

#include "base/text.hpp"

namespace orrery::validate {

namespace {

struct Recipe {
    std::string_view model, task;
    std::uint32_t tensor, pipeline, chunks;
    std::string_view release = {};  ///< of the tables that the recipe belongs to; empty: any other
};

// NeMo-Framework-Launcher: launcher_scripts/conf/training (gpt3/175b and 175b_mlperf, llama/llama2_13b, llama2_70b,
// llama3_70b, nemotron/nemotron_22b; llama2_70b of 24.03 another), examples/peft/llama/h100 (13b_1node, 70b_2node;
// 70b_1node_lora leaves conf/peft/llama/sft's null). NVIDIA/dgxc-benchmarking v25.04: nemotron/launch.sh.
constexpr Recipe recipes[] = {
    {"llama2-70b", "pretrain", 4, 4, 20, "24.03"},
    {"gpt3-175b", "pretrain", 4, 8, 6},
    {"llama2-13b", "pretrain", 1, 4, 10},
    {"llama2-70b", "pretrain", 4, 4, 5},
    {"llama3-70b", "pretrain", 4, 4, 5},
    {"nemotron3-22b", "pretrain", 2, 4, 10},
    {"nemotron4-340b", "pretrain", 8, 8, 12},
    {"llama2-13b", "sft", 1, 4, 10},
    {"llama2-70b", "sft", 4, 4, 20},
    {"llama2-70b", "lora", 2, 4, 1},
};

/// With experts in a graph of the whole step.
bool is_full_iteration_mxfp8(const Row& row) {
    return of_megatron_bridge(row) && row.words("switches.cuda-graph-impl") == "full_iteration" && prints_mxfp8(row);
}

}  // namespace

bool of_megatron_bridge(const Row& row) { return contains(row.words("source.repo"), "megatron-bridge"); }

bool prints_mxfp8(const Row& row) {
    const std::string precision = row.words("precision");
    return contains(precision, "mxfp8") || contains(precision, "fp8-mx");
}

std::optional<std::uint32_t> chunks_of_recipe(const Row& row, std::uint32_t tensor, std::uint32_t pipeline) {
    const std::string model = row.words("model.name"), task = row.words("switches.task"),
                      release = row.has("source.tag") ? row.words("source.tag") : "";
    const auto* const found = std::ranges::find_if(recipes, [&](const Recipe& recipe) {
        return recipe.model == model && recipe.task == task && recipe.tensor == tensor && recipe.pipeline == pipeline &&
               (recipe.release.empty() || recipe.release == release);
    });
    if (found == std::end(recipes)) return std::nullopt;
    return found->chunks;
}

/// NVIDIA/dgxc-benchmarking, v24.11.1 to v25.04.02: grok1/grok1_314b.yaml (moe_token_dispatcher_type,
/// moe_expert_capacity_factor, moe_pad_expert_input_to_capacity).
std::optional<ExpertRecipe> experts_of_recipe(const Row& row) {
    if (!row.words("model.name").starts_with("grok1-314b")) return std::nullopt;
    return ExpertRecipe{strategies::Dispatcher::alltoall, 1.0};
}

/// Megatron-Bridge, recipes/deepseek and recipes/nemotronh (mtp_num_layers; mtp_use_repeated_layer of Nemotron, whose
/// second one has the first's weights, which is not told apart). Its tables say where DeepSeek-V3 ran without.
std::uint32_t further_tokens_of_recipe(const Row& row) {
    const std::string model = row.words("model.name");
    const bool super = begins_word(model, "nemotron_3_super");
    if (model != "deepseek-v3" && !super) return 0;
    if (!of_megatron_bridge(row)) return 0;
    if (super) return 2;
    return lower(row.id()).find("w/o_mtp") == std::string::npos ? 1 : 0;
}

/// scripts/performance/configs (v0.5, fp8_dot_product_attention) and perf_recipes (v0.6): all such but DeepSeek-V3's on
/// GB200.
bool recipe_narrows_attention(const Row& row) {
    const bool without = row.words("model.name") == "deepseek-v3" && row.words("gpu") == "gb200";
    return is_full_iteration_mxfp8(row) && !without;
}

/// The same files (fp8_output_proj): DeepSeek-V3's and GPT-OSS's.
bool recipe_narrows_output(const Row& row) {
    const std::string model = row.words("model.name");
    return is_full_iteration_mxfp8(row) && (model == "deepseek-v3" || begins_word(model, "gpt-oss"));
}

/// Of one scale a tensor and MXFP8's: Megatron-Bridge (training/mixed_precision.py, fp8_param_gather), but for Kimi K2
/// and GPT-OSS (perf_recipes); NeMo 2 (llm/recipes/precision/mixed_precision.py) and, for NeMo 1,
/// NVIDIA/dgxc-benchmarking (configure.sh, fp8_params). Not NeMo-Framework-Launcher's, whose rows are of 24.03.
bool recipe_gathers_narrow(const Row& row) {
    const std::string repository = row.words("source.repo"), model = row.words("model.name");
    if (of_megatron_bridge(row)) return !contains(model, "kimi") && !begins_word(model, "gpt-oss");
    if (contains(repository, "dgxc-benchmarking")) return true;
    return contains(repository, "nvidia/nemo") && row.words("source.tag") != "24.03";
}

/// All but Nemotron's hybrids (recipes/nemotronh: moe_router_fusion False, which perf_recipes leave so, but Ultra's).
bool recipe_fuses_router(const Row& row) {
    const std::string model = row.words("model.name");
    return of_megatron_bridge(row) && (!begins_word(model, "nemotron") || contains(model, "ultra"));
}

/// Nemotron 3 Super alone (mixed_precision.py, nemotron_3_super_bf16_with_nvfp4_mixed). Its attention, projections to
/// experts' width and the mixers' second product stay wide as well (perf_recipes/nemotronh/te_quant.cfg), which is left
/// out.
std::uint32_t wide_layers_of_recipe(const Row& row) {
    constexpr std::uint32_t of_super = 14;
    return begins_word(row.words("model.name"), "nemotron_3_super") ? of_super : 0;
}

}  // namespace orrery::validate
