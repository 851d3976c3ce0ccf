// What NVIDIA's launch scripts set: whose attention, whether tensor ranks' exchanges run beside products, and what is
// packed into sequences.
#include "validate/nemo_recipes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/validate/sample.hpp"
#include "validate/map_row.hpp"
#include "validate/rows.hpp"
#include "validate/software.hpp"

namespace orrery::validate {
namespace {

using hardware::AttentionKernel;
using nlohmann::json;
using test::row_of, test::with;

json of_table(const char* repo, const char* tag, const char* path, const char* model) {
    return {{"id", "table/1"},
            {"source", {{"repo", repo}, {"tag", tag}, {"path", path}}},
            {"model", {{"name", model}}},
            {"precision", "BF16"},
            {"gpu", "H100"},
            {"switches", {{"task", "pretrain"}}}};
}
json launcher(const char* tag, const char* model) {
    return of_table("NVIDIA/NeMo-Framework-Launcher", tag, "examples/README.md:50", model);
}
json dgxc(const char* tag, const char* path, const char* model) {
    return of_table("NVIDIA/dgxc-benchmarking", tag, path, model);
}
json bridge(const char* model, const char* gpu, const char* precision) {
    json row = of_table("NVIDIA-NeMo/Megatron-Bridge", "", "docs/performance-summary.md:1", model);
    row["gpu"] = gpu;
    row["precision"] = precision;
    return row;
}

TEST(NemoRecipes, TakeFlashAttention2WhereTheyKeepItFromCudnn) {
    const auto flash = [](const json& fields) { return recipe_takes_flash_2(row_of(fields)); };
    EXPECT_TRUE(flash(launcher("24.03", "llama2-7b")));
    EXPECT_TRUE(
        flash(of_table("NVIDIA/NeMo", "v2.0.0", "docs/source/performance/performance_summary.md:14", "gpt3-5b")));
    const json long_sequence =
        of_table("NVIDIA/NeMo", "", "docs/source/performance/performance_long_sequence.md", "llama2-7b");
    EXPECT_TRUE(flash(long_sequence));
    EXPECT_FALSE(flash(with(long_sequence, {{"gpu", "B200"}})));
    EXPECT_TRUE(flash(dgxc("v25.02", "grok1/README_314b.md:66", "grok1-314b")));
    EXPECT_FALSE(flash(dgxc("v25.05", "grok1/README.md:66", "grok1-314b")));
    EXPECT_TRUE(flash(dgxc("v24.11.1", "nemo_megatron/README_175b.md:1", "gpt3-175b")));
    EXPECT_FALSE(flash(dgxc("v25.02", "nemo_megatron/README_175b.md:1", "gpt3-175b")));
    EXPECT_TRUE(flash(dgxc("v24.11.1", "nemotron/README_340b.md:1", "nemotron4-340b")));
    EXPECT_FALSE(flash(dgxc("v25.04", "nemotron/README.md:1", "nemotron4-340b")));
    EXPECT_FALSE(flash(dgxc("v24.11.1", "llama3.1/README_405b.md:1", "llama3.1-405b")));
    EXPECT_FALSE(flash(bridge("llama3-70b", "H100", "BF16")));
    const auto kernel = [](const json& fields) { return attention_kernel_of(row_of(fields), Software::nemo); };
    EXPECT_EQ(kernel(launcher("24.03", "llama2-7b")), AttentionKernel::flash_2);
    EXPECT_EQ(kernel(bridge("llama3-70b", "H100", "BF16")), AttentionKernel::cudnn);
}

TEST(NemoRecipes, OverlapWhatTensorRanksExchange) {
    const auto overlaps = [](const json& fields) { return recipe_overlaps_tensor(row_of(fields)); };
    EXPECT_TRUE(overlaps(launcher("HEAD", "llama2-70b")));
    EXPECT_FALSE(overlaps(launcher("HEAD", "llama2-7b")));
    EXPECT_FALSE(overlaps(launcher("HEAD", "gpt3-175b")));
    EXPECT_TRUE(overlaps(launcher("HEAD", "gpt3-20b")));
    EXPECT_FALSE(overlaps(launcher("24.03", "gpt3-20b")));
    EXPECT_TRUE(overlaps(launcher("24.03", "llama2-13b")));
    EXPECT_FALSE(overlaps(launcher("HEAD", "llama2-13b")));
    EXPECT_TRUE(overlaps(dgxc("v25.04", "llama3.1/README.md:1", "llama3-70b")));
    EXPECT_FALSE(overlaps(dgxc("v25.02", "maxtext/README.md:1", "llama3-70b")));
    EXPECT_FALSE(overlaps(dgxc("v25.05", "deepseek_v3/pretraining/README.md:1", "deepseek-v3")));
    EXPECT_TRUE(overlaps(bridge("llama3.1-405b", "GB300", "MXFP8")));
    EXPECT_FALSE(overlaps(bridge("llama3.1-405b", "GB300", "NVFP4")));
    EXPECT_FALSE(overlaps(bridge("qwen3-235b-a22b", "H100", "FP8")));
    EXPECT_TRUE(overlaps(bridge("qwen3-235b-a22b", "GB200", "FP8-CS")));
    EXPECT_FALSE(overlaps(bridge("deepseek-v3", "GB200", "MXFP8")));
    EXPECT_FALSE(overlaps(of_table("NVIDIA/Megatron-LM", "", "README.md:1", "llama3-70b")));
}

TEST(NemoRecipes, MoveTokensOfExpertsByKernelsOfTheirOwnSinceNeMo2) {
    const auto fuses = [](const json& fields) { return recipe_fuses_permutation(row_of(fields)); };
    EXPECT_FALSE(fuses(dgxc("v25.02", "grok1/README_314b.md:66", "grok1-314b")));
    EXPECT_TRUE(fuses(dgxc("v25.05", "grok1/README.md:66", "grok1-314b")));
    EXPECT_TRUE(fuses(bridge("qwen3-30b-a3b", "GB200", "MXFP8")));
}

/// 842,603 tokens' squares in a sequence of 4,096: documents of 206 tokens in the mean, and 256 divide a sequence.
TEST(NemoRecipes, PackSquadWhereTheyFineTune) {
    const auto length = [](json fields, const char* task, std::uint32_t seq = 4096) {
        fields["switches"]["task"] = task;
        return document_length_of_recipe(row_of(fields), seq);
    };
    for (const char* task : {"SFT", "LoRA"}) {
        EXPECT_EQ(length(launcher("24.03", "llama2-7b"), task), 256U);
        EXPECT_EQ(length(dgxc("v25.02", "llama3/finetuning/README_70b.md:47", "llama3-70b"), task), 256U);
        EXPECT_EQ(
            length(of_table("NVIDIA/NeMo", "v2.1.0", "docs/source/performance/performance_summary.md:37", "llama2-7b"),
                   task),
            256U);
        EXPECT_EQ(length(of_table("NVIDIA/Megatron-LM", "", "README.md:1", "llama3-70b"), task), 0U);
    }
    EXPECT_EQ(length(launcher("24.03", "llama2-7b"), "pretrain"), 0U);
    EXPECT_EQ(length(bridge("llama3-70b", "H100", "FP8"), "LoRA"), 256U);
    EXPECT_EQ(length(bridge("llama3-70b", "GB200", "BF16"), "LoRA", 2048), 256U);
    EXPECT_EQ(length(bridge("llama3-70b", "H100", "FP8"), "SFT"), 0U) << "its data are mock";
    EXPECT_EQ(length(launcher("24.03", "llama2-7b"), "SFT", 8192), 0U) << "nothing is published";
}

TEST(NemoRecipes, RowsOfFineTuningArePacked) {
    std::size_t packed = 0;
    for (const char* file : {"nvidia_nemo_docs", "nvidia_dgxc_benchmarking", "nvidia_megatron_bridge"})
        for (const Row& row : load_rows("scenarios/validation/" + std::string(file) + ".json").rows) {
            try {
                const scenarios::Scenario scenario = map_row(row, [](const std::string&) { return true; });
                const std::uint32_t length = scenario.plan.training.document_length;
                const std::string task = row.words("switches.task");
                if (task != "sft") {
                    EXPECT_EQ(length, task == "lora" ? 256U : 0U) << row.id();
                }
                packed += length > 0 ? 1 : 0;
            } catch (const Skip&) {
            }
        }
    EXPECT_GT(packed, 25U);
}

/// Carried rows become plans with it, but where adapters are trained, there is one tensor rank, or they say otherwise.
TEST(NemoRecipes, RowsOfTablesOverlap) {
    std::size_t with = 0, without = 0;
    for (const Row& row : load_rows("scenarios/validation/nvidia_dgxc_benchmarking.json").rows) {
        const std::string path = row.words("source.path");
        if (path.starts_with("deepseek") || path.starts_with("maxtext/") || path.starts_with("paxml/")) continue;
        const std::string task = row.words("switches.task");
        try {
            const scenarios::Scenario scenario = map_row(row, [](const std::string&) { return true; });
            const strategies::Strategy& strategy = scenario.plan.strategy;
            const bool states_not = !row.flag("switches.tp-comm-overlap").value_or(true);
            const bool expected = strategy.tensor > 1 && strategy.sequence_parallel && task != "lora" && !states_not;
            EXPECT_EQ(strategy.tensor_comm_overlap, expected) << row.id();
            ++(expected ? with : without);
        } catch (const Skip&) {
        }
    }
    EXPECT_GT(with, 100U);
    EXPECT_GT(without, 10U);
}

}  // namespace
}  // namespace orrery::validate
