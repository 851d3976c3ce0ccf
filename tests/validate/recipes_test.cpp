// What Megatron-Bridge's recipes set where its tables have no column.
#include "validate/recipes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"
#include "validate/row_scenario.hpp"

namespace orrery::validate {
namespace {

using nlohmann::json;
using strategies::CudaGraphScope, strategies::Training;
using test::row_of, test::with;

json bridge(const char* model, const char* gpu) {
    return {{"id", "bridge/1"},
            {"source", {{"repo", "NVIDIA-NeMo/Megatron-Bridge"}, {"release", "26.06"}}},
            {"model", {{"name", model}}},
            {"precision", "MXFP8"},
            {"gpu", gpu},
            {"switches", {{"cuda-graph-impl", "full_iteration"}}}};
}

TEST(Recipes, GraphsOfWholeStepsHaveAttentionAndLogitsInFp8) {
    const auto attention = [](const json& fields) { return recipe_narrows_attention(row_of(fields)); };
    const auto output = [](const json& fields) { return recipe_narrows_output(row_of(fields)); };
    EXPECT_TRUE(attention(bridge("deepseek-v3", "GB300")) && output(bridge("deepseek-v3", "GB300")));
    EXPECT_FALSE(attention(bridge("deepseek-v3", "GB200")));
    EXPECT_TRUE(output(bridge("deepseek-v3", "GB200")));
    EXPECT_TRUE(attention(bridge("qwen3-30b-a3b", "GB200")));
    EXPECT_FALSE(output(bridge("qwen3-30b-a3b", "GB200")));
    EXPECT_TRUE(attention(bridge("gpt-oss-120b", "GB200")) && output(bridge("gpt-oss-120b", "GB200")));
    const json parts = {{"switches", {{"cuda-graph-impl", "transformer_engine"}}}};
    EXPECT_FALSE(attention(with(bridge("qwen3-30b-a3b", "GB200"), parts)));
    EXPECT_FALSE(attention(with(bridge("qwen3-30b-a3b", "GB200"), {{"precision", "BF16"}})));
    EXPECT_FALSE(attention(with(bridge("qwen3-30b-a3b", "GB200"), {{"source", {{"repo", "NVIDIA/Megatron-LM"}}}})));
}

/// Of one scale a tensor and MXFP8's; what a row says goes first.
TEST(Recipes, WeightsAreGatheredInFp8WhereNvidiasRecipesSaySo) {
    const auto gathers = [](const char* repository, const char* precision, const json& more = json::object()) {
        return map_row(row_of(with({{"id", "nemo/1"},
                                    {"source", {{"repo", repository}, {"tag", "v2.0.0"}}},
                                    {"model", {{"name", "llama3-8b"}, {"seq", 8192}}},
                                    {"precision", precision},
                                    {"gpu", "H100 SXM5 80GB"},
                                    {"gpus", 8},
                                    {"tp", 1},
                                    {"pp", 1},
                                    {"dp", 8},
                                    {"mbs", 1},
                                    {"gbs", 128},
                                    {"switches", {{"framework", "NeMo"}}},
                                    {"measured", {{"step_time_s", 4.0}}}},
                                   more)),
                       [](const std::string&) { return true; })
            .plan.training.fp8_param_gather;
    };
    const char* const bridge = "NVIDIA-NeMo/Megatron-Bridge";
    EXPECT_TRUE(gathers(bridge, "FP8-CS"));
    EXPECT_FALSE(gathers(bridge, "BF16"));
    EXPECT_FALSE(gathers(bridge, "FP8", {{"switches", {{"fp8-recipe", "blockwise"}}}}));
    EXPECT_FALSE(gathers(bridge, "FP8-CS", {{"model", {{"name", "kimi-k2"}}}}));
    EXPECT_TRUE(gathers("NVIDIA/NeMo", "FP8"));
    EXPECT_FALSE(gathers("NVIDIA/NeMo", "FP8", {{"source", {{"tag", "24.03"}}}}));
    EXPECT_FALSE(gathers("mlcommons/training_results_v3.1", "FP8"));
    EXPECT_TRUE(gathers("mlcommons/training_results_v4.1", "FP8", {{"switches", {{"fp8-param-gather", true}}}}));
}

TEST(Recipes, RoutersAreFusedButForNemotrons) {
    const auto fuses = [](const json& fields) { return recipe_fuses_router(row_of(fields)); };
    EXPECT_TRUE(fuses(bridge("qwen3-30b-a3b", "GB200")));
    EXPECT_FALSE(fuses(bridge("Nemotron_3_Nano", "GB200")));
    EXPECT_TRUE(fuses(bridge("Nemotron_3_Ultra", "GB200")));
    EXPECT_FALSE(fuses(with(bridge("qwen3-30b-a3b", "GB200"), {{"source", {{"repo", "NVIDIA/Megatron-LM"}}}})));
}

/// moe_router and moe_preprocess alone are routers'; beside attn or mamba all but the experts; whole layers hold these.
TEST(Recipes, PartsOfGraphsAreRoutersOrAllButExperts) {
    const auto training = [](const char* scope) {
        return map_row(row_of({{"id", "bridge/2"},
                               {"source", {{"repo", "NVIDIA-NeMo/Megatron-Bridge"}, {"release", "26.04"}}},
                               {"model", {{"name", "qwen3-30b-a3b"}, {"seq", 4096}}},
                               {"precision", "MXFP8"},
                               {"gpu", "B200"},
                               {"gpus", 8},
                               {"tp", 1},
                               {"pp", 1},
                               {"ep", 8},
                               {"mbs", 1},
                               {"gbs", 512},
                               {"switches", {{"cuda-graph-impl", "transformer_engine"}, {"cuda-graph-scope", scope}}},
                               {"measured", {{"step_time_s", 4.0}}}}),
                       test::any_profile)
            .plan.training;
    };
    EXPECT_EQ(training("moe_router moe_preprocess").cuda_graph_scope, CudaGraphScope::routers);
    EXPECT_EQ(training("attn moe_router moe_preprocess").cuda_graph_scope, CudaGraphScope::outside_experts);
    EXPECT_EQ(training("full").cuda_graph_scope, CudaGraphScope::full_iteration);
    EXPECT_TRUE(training("moe_router moe_preprocess").cuda_graph);
}

TEST(RowScenario, IsOfTheRowThatIsNamed) {
    const auto files = carried_files();
    const auto scenario = scenario_of_row(files, "megatron/sc21_t1_18B", test::any_profile);
    EXPECT_EQ(scenario.plan.model.layers, 40);
    EXPECT_EQ(scenario.plan.strategy.tensor, 8);
    const auto refusal = [&](const char* id) {
        try {
            (void)scenario_of_row(files, id, test::any_profile);
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_NE(refusal("megatron/sc21_t1_18b").find("nearest: megatron/sc21_t1_18B"), std::string::npos);
    EXPECT_NE(refusal("bigscience/v100/Megatron/7.5B/16g/tp4pp4dp1/mbs1/gbs4").find("is skipped: "), std::string::npos);
}

}  // namespace
}  // namespace orrery::validate
