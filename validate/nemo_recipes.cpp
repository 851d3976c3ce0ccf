#include "validate/nemo_recipes.hpp"

#include <algorithm>
#include <string_view>

#include "validate/recipes.hpp"

namespace orrery::validate {

namespace {

bool of_dgxc(const Row& row) { return contains(row.words("source.repo"), "dgxc-benchmarking"); }

/// Tables of NeMo-Framework-Launcher (examples/README.md), and those of NeMo's documentation that name a container
/// which the launcher ran: 24.07 (docs/source/performance/performance_summary.md at v2.0.0 and v2.1.0) and 24.03.01
/// (performance_long_sequence.md, H100).
bool of_launcher(const Row& row) {
    const std::string repo = row.words("source.repo"), path = row.words("source.path");
    const bool named =
        contains(path, "performance_summary") || (contains(path, "long_sequence") && row.words("gpu") == "h100");
    return contains(repo, "nemo-framework-launcher") || (repo == "nvidia/nemo" && named);
}

/// launcher_scripts/conf of 24.01, which made the table of 24.03 (its README names that container), and of 24.05 and
/// 24.07, which made the others: training/*/*.yaml and, of fine-tuning, examples/peft/llama/h100/70b_2node.sh and
/// 70b_1node_lora.sh.
bool launcher_overlaps(const Row& row) {
    const std::string model = row.words("model.name");
    const bool first = row.words("source.tag") == "24.03";
    if (model == "llama2-13b") return first && row.words("switches.task") == "pretrain";
    if (model == "gpt3-20b") return !first;
    constexpr std::string_view always[] = {"llama2-70b", "llama3-70b", "nemotron3-8b", "nemotron3-22b"};
    return std::ranges::find(always, model) != std::end(always);
}

/// grok1/configure.sh, llama3.1/*.yaml, nemo_megatron/*.yaml, nemotron/configure.sh until v25.03, later NeMo's recipes
/// (nemo/collections/llm/recipes, v2.1.0 and v2.3.0, pretrain_performance_optimizations); none of them DeepSeek-V3's.
/// Its MaxText and Paxml are JAX.
bool dgxc_overlaps(const Row& row) {
    const std::string path = row.words("source.path");
    const bool jax = path.starts_with("maxtext/") || path.starts_with("paxml/");
    return !jax && !contains(row.words("model.name"), "deepseek");
}

/// scripts/performance/configs (v0.2 to v0.5) and perf_recipes (v0.6): Llama's, and Qwen3's but that of 235B on H100.
bool bridge_overlaps(const Row& row) {
    const std::string model = row.words("model.name");
    return model.starts_with("llama3") || (model.starts_with("qwen3") && row.words("gpu") != "h100");
}

}  // namespace

/// launcher_scripts/conf/config.yaml, 24.01 to 24.07: "NVTE_FUSED_ATTN: 0 # Disable cudnn FA until we've tested it
/// more". dgxc-benchmarking: grok1/configure.sh, v24.11.1 to v25.04; nemo_megatron/launch.sh, v24.11.1;
/// nemotron/configure.sh, v24.11.1 to v25.03, of 340B alone.
bool recipe_takes_flash_2(const Row& row) {
    if (of_launcher(row)) return true;
    if (!of_dgxc(row)) return false;
    const std::string path = row.words("source.path"), tag = row.words("source.tag");
    if (path.starts_with("grok1/")) return tag < "v25.05";
    if (path.starts_with("nemo_megatron/")) return tag == "v24.11.1";
    return path.starts_with("nemotron/readme_340b");
}

/// Not in dgxc-benchmarking's grok1/*.yaml, v24.11.1 to v25.04, whose NeMo has no such key; all later ones do.
bool recipe_fuses_permutation(const Row& row) {
    const bool yaml = row.words("source.path").starts_with("grok1/") && row.words("source.tag") < "v25.05";
    return !(of_dgxc(row) && yaml);
}

bool recipe_overlaps_tensor(const Row& row) {
    if (contains(row.words("precision"), "fp4")) return false;  // Megatron-Bridge's scripts switch it off there
    if (of_megatron_bridge(row)) return bridge_overlaps(row);
    return of_launcher(row) ? launcher_overlaps(row) : of_dgxc(row) && dgxc_overlaps(row);
}

}  // namespace orrery::validate
