#include "validate/nemo_recipes.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "validate/map_row.hpp"
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

/// NeMo-Framework-Launcher, examples/README.md, 24.03 to 24.07, and NeMo's tables of v2.0.0 and v2.1.0: "we use
/// SQuAD-v1.1 dataset, and the inputs are packed to 4096 tokens". dgxc-benchmarking: llama3/finetuning (v25.02) runs
/// NeMo's finetune_recipe in performance_mode, which packs SQuAD; its later launches of Megatron-Bridge say so too
/// (llama3/finetune/launch.sh, v26.02: --task lora --data squad_packed). Megatron-Bridge's own tables: adapters alone,
/// whose printed FLOPs are those that it counts beside packed SQuAD (training/utils/flop_utils.py, v0.5.0); those of
/// its SFT are of whole sequences, and its launcher takes mock data where it is told none.
bool packs_squad(const Row& row) {
    const bool adapters = trains_adapters(row);
    if (of_megatron_bridge(row)) return adapters;
    return (of_launcher(row) || of_dgxc(row)) && (adapters || contains(row.words("switches.task"), "sft"));
}

/// Of the documents of SQuAD in a sequence the sum of their squares over their sum, as NVIDIA has both for rows of
/// Llama 3 70B (dgxc-benchmarking v26.02, common/parse_train_timing_mbridge.sh: avg_seqlen2, avg_tokens;
/// Megatron-Bridge, pull request 2416); 0: not known. Llama 2's shorter words are not told apart.
double length_in_squad(std::uint32_t seq) {
    if (seq == 4096) return 842603.0 / 4096;
    return seq == 2048 ? 488991.0 / 2030 : 0;
}

/// In ratio.
std::uint32_t nearest_divisor(double value, std::uint32_t of) {
    const auto ratio = [&](std::uint32_t divisor) { return std::abs(std::log(divisor / value)); };
    std::uint32_t nearest = of;
    for (std::uint32_t divisor = 1; divisor < of; ++divisor)
        if (of % divisor == 0 && ratio(divisor) < ratio(nearest)) nearest = divisor;
    return nearest;
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

std::uint32_t document_length_of_recipe(const Row& row, std::uint32_t seq) {
    const double length = length_in_squad(seq);
    return length > 0 && packs_squad(row) ? nearest_divisor(length, seq) : 0;
}

}  // namespace orrery::validate
