#include "sim/allocator.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

constexpr double mib = 1 << 20;

/// Megatron-LM with Transformer Engine on A100, 24 layers, bf16, distributed optimizer, without a fused loss.
nlohmann::json of_24_layers(std::uint32_t micro_batch, std::uint32_t batch) {
    return {{"model",
             {{"name", "llama2-7b"},
              {"num_hidden_layers", 24},
              {"hidden_size", 512},
              {"num_attention_heads", 4},
              {"num_key_value_heads", 1},
              {"intermediate_size", 1792},
              {"vocab_size", 128256},
              {"max_position_embeddings", 2048}}},
            {"cluster", {{"preset", "dgx-a100"}, {"nodes", 1}}},
            {"training",
             {{"seq_length", 2048},
              {"micro_batch_size", micro_batch},
              {"global_batch_size", batch},
              {"precision", "bf16"},
              {"software", "transformer-engine"},
              {"cross_entropy_loss_fusion", false}}},
            {"strategy", {{"sharding", "zero1"}}}};
}

/// What Megatron-LM logged of its first rank, torch.cuda.max_memory_allocated and _reserved, in MiB.
struct Logged {
    const char* what;
    nlohmann::json scenario;
    double allocated, reserved;
    double tolerance;
};

/// The first three are one repository's logs of October 2024 (dense, and 64 experts of which a token takes one on 4 and
/// 8 expert ranks), the last is that of open-sci-ref's 1.7B on 252 A100 of 64 GB (March 2025), here on 256. Dropless
/// experts on 8 ranks take other numbers of tokens in each of two micro-batches, which is not replayed.
std::vector<Logged> logged() {
    nlohmann::json experts = of_24_layers(8, 64), on_eight = of_24_layers(4, 64), large = of_24_layers(4, 1024);
    for (nlohmann::json* each : {&experts, &on_eight})
        (*each)["model"].update({{"name", "mixtral-8x7b"},
                                 {"num_experts", 64},
                                 {"num_experts_per_tok", 1},
                                 {"moe_intermediate_size", 1792}});
    experts["strategy"]["expert"] = 4;
    on_eight["strategy"]["expert"] = 8;
    large["model"] = {{"name", "llama2-7b"},       {"num_hidden_layers", 24},     {"hidden_size", 2048},
                      {"num_attention_heads", 32}, {"num_key_value_heads", 32},   {"intermediate_size", 8192},
                      {"vocab_size", 50304},       {"tie_word_embeddings", true}, {"qk_layernorm", true}};
    large["cluster"] = {{"preset", "superpod-a100"}, {"nodes", 32}};
    large["training"]["seq_length"] = 4096;
    return {{"dense", of_24_layers(8, 64), 20561, 28404, 0.02},
            {"experts on 4 ranks", experts, 33742, 37658, 0.03},
            {"experts on 8 ranks", on_eight, 20612, 24654, 0.20},
            {"1.7B", large, 50277, 53386, 0.04}};
}

}  // namespace

/// Peaks of tensors alone are 29, 13, 19 and 9% below what was reserved.
TEST(Allocator, ReservesWhatMegatronLogged) {
    for (const Logged& one : logged()) {
        const Prediction p = quick(scenario_of(one.scenario));
        ASSERT_EQ(p.allocator.size(), 1U) << one.what;
        EXPECT_NEAR(static_cast<double>(p.allocator[0].allocated) / mib / one.allocated, 1, 0.05) << one.what;
        EXPECT_NEAR(static_cast<double>(p.allocator[0].reserved) / mib / one.reserved, 1, one.tolerance) << one.what;
        EXPECT_GT(p.allocator[0].reserved, p.memory[0].peak + p.framework[0].workspaces) << one.what;
    }
}

/// A page more than the tensors take is not enough for the dense model, whose logits come twice; no stage's replay
/// depends on the others, and other software has another allocator.
TEST(Allocator, RunsOutWhereTensorsFit) {
    const scenarios::Scenario scenario = scenario_of(of_24_layers(8, 64));
    MemoryUse use = quick(scenario);
    ASSERT_TRUE(use.fits);
    EXPECT_TRUE(allocator_doubts(use).empty());
    use.memory_capacity = use.needed(0) + (std::uint64_t{512} << 20U);
    use.stage_capacity.clear();
    use.allocator.clear();
    add_allocator(use, scenario.plan);
    ASSERT_EQ(use.allocator.size(), 1U);
    EXPECT_TRUE(use.allocator[0].out_of_memory);
    ASSERT_EQ(allocator_doubts(use).size(), 1U);
    EXPECT_NE(allocator_doubts(use)[0].find("expandable_segments"), std::string::npos);
}

TEST(Allocator, StandsBesideEveryStageOfPyTorchAlone) {
    const Prediction p = quick(small_scenario());
    ASSERT_EQ(p.allocator.size(), p.memory.size());
    for (const strategies::AllocatorUse& stage : p.allocator) {
        EXPECT_GE(stage.reserved, stage.allocated);
        EXPECT_FALSE(stage.out_of_memory);
    }
    EXPECT_EQ(p.allocator, quick(small_scenario()).allocator);
    EXPECT_TRUE(quick(small_scenario(R"({"training": {"software": "tensorflow"}})")).allocator.empty());
    EXPECT_TRUE(predict(small_scenario(), profiles(), {.allocator = false}).allocator.empty());
    for (const char* other : {"llama2-70b-tpu-v5p", "gpt-tiny-cpu"})
        EXPECT_TRUE(quick(scenarios::load(std::filesystem::path("scenarios") / (std::string(other) + ".json")))
                        .allocator.empty())
            << other;
}

/// Everything that a step asks for it gives back: as much is reserved of twice as many steps.
TEST(Allocator, AllSchedulesComeToRest) {
    for (const char* schedule : {"gpipe", "1f1b", "zb-h1", "zb-h2", "pipedream-2bw"}) {
        const scenarios::Scenario scenario =
            small_scenario(std::string(R"({"model": {"tie_word_embeddings": false}, "strategy": {"schedule": ")") +
                           schedule + R"("}})");
        const strategies::StepProgram step = strategies::build(scenario.plan);
        for (std::uint32_t role = 0; role < step.programs.size(); ++role) {
            const strategies::AllocatorUse use =
                strategies::allocator_use(step, role, {.capacity = ~std::uint64_t{0}, .workspaces = 0});
            const auto peak = static_cast<double>(strategies::memory(step, role).peak);
            EXPECT_LT(static_cast<double>(use.allocated), 1.02 * peak + 64 * mib) << schedule << " role " << role;
            EXPECT_GT(static_cast<double>(use.allocated), 0.85 * peak) << schedule << " role " << role;
        }
    }
}

}  // namespace orrery::sim
