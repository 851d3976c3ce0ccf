#include "sim/predict.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "models/operators.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

scenarios::Scenario shipped(const std::string& name) {
    return scenarios::load(std::filesystem::path("scenarios") / (name + ".json"));
}

TEST(Predict, IsDeterministic) {
    const Options options{.keep_trace = true};
    const Prediction one = predict(small_scenario(), profiles(), options), two = predict(small_scenario(), options);
    EXPECT_EQ(one.step_time_s, two.step_time_s);
    EXPECT_EQ(one.advice, two.advice);
    EXPECT_EQ(one.bottleneck, two.bottleneck);
    ASSERT_EQ(one.trace.size(), two.trace.size());
    for (std::size_t i = 0; i < one.trace.size(); ++i) {
        ASSERT_EQ(one.trace[i].spans.size(), two.trace[i].spans.size());
        for (std::size_t op = 0; op < one.trace[i].spans.size(); ++op) {
            EXPECT_EQ(one.trace[i].spans[op].begin, two.trace[i].spans[op].begin);
            EXPECT_EQ(one.trace[i].spans[op].end, two.trace[i].spans[op].end);
        }
    }
}

TEST(Predict, RatesFollowFromTheStepTime) {
    const scenarios::Scenario scenario = small_scenario(R"({"outputs": {"token_budget": "1B"}})");
    const Prediction p = quick(scenario);
    EXPECT_DOUBLE_EQ(p.tokens_per_s, 32 * 512 / p.step_time_s);
    EXPECT_DOUBLE_EQ(p.training_time_s, 1e9 / p.tokens_per_s);
    EXPECT_DOUBLE_EQ(p.model_flops_per_gpu,
                     models::model_flops(models::build(scenario.plan.model), 32, 512) / 16 / p.step_time_s);
    EXPECT_DOUBLE_EQ(p.mfu, p.model_flops_per_gpu / 312e12);
    // Of 4 s h forward and twice that backward, a token and layer, a causal query sees half.
    const double masked = 3 * 2.0 * 512 * scenario.plan.model.hidden * scenario.plan.model.layers;
    EXPECT_NEAR(p.mfu - p.mfu_causal, masked * 32 * 512 / 16 / p.step_time_s / 312e12, 1e-12);
}

TEST(Predict, SpansLieWithinTheStep) {
    const Prediction p = predict(small_scenario(), profiles(), {.keep_trace = true});
    double last = 0;
    for (const RankClass& rank : p.trace) {
        EXPECT_EQ(rank.spans.size(), p.program.programs[rank.role].ops.size());
        for (const Span& span : rank.spans) {
            EXPECT_GE(span.begin, 0);
            EXPECT_GE(span.end, span.begin);
            last = std::max(last, span.end);
        }
    }
    EXPECT_DOUBLE_EQ(last, p.step_time_s);
}

class ShippedPrediction : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Scenarios, ShippedPrediction,
                         testing::Values("gpt-1.7b-dgx-a100", "gpt-22b-superpod-h100", "llama2-70b-superpod-h100",
                                         "bert-large-dgx-1v", "gpt-neox-20b-ethernet"));

TEST_P(ShippedPrediction, IsPlausible) {
    const scenarios::Scenario scenario = shipped(GetParam());
    const Prediction p = quick(scenario);
    EXPECT_GT(p.mfu, 0.02);
    EXPECT_LT(p.mfu, 0.8);
    EXPECT_LT(p.hfu, 1);
    EXPECT_EQ(p.gpus, scenario.plan.ranks());
    EXPECT_LE(p.classes, p.gpus);
    EXPECT_EQ(p.stages.size(), scenario.plan.strategy.pipeline);
    EXPECT_EQ(p.memory.size(), p.stages.size());
    EXPECT_TRUE(p.fits) << "it has been trained this way";
    EXPECT_TRUE(scenario.plan.strategy.recompute != strategies::Recompute::full || p.hfu > p.mfu);
}

/// Folding keeps what is simulated far below what it stands for.
TEST(Predict, ThreeThousandGpus) {
    const Prediction p = quick(shipped("gpt-1t-superpod-a100"));
    EXPECT_EQ(p.gpus, 3072U);
    EXPECT_EQ(p.stages.size(), 64U);
    EXPECT_GT(p.ops, 100'000'000U);
    EXPECT_LE(p.classes, 3072U / 4);
    EXPECT_GT(p.mfu, 0.2);
    EXPECT_LT(p.mfu, 0.7);
}

TEST(Predict, AnEncoderDecodersRatesCountBothSequences) {
    const scenarios::Scenario scenario = shipped("t5-11b-dgx-h100");
    const Prediction p = predict(scenario, profiles(), {.advice = false});
    EXPECT_DOUBLE_EQ(p.tokens_per_s, 8 * (512 + 128) / p.step_time_s);
    const double all = models::model_flops(models::build(scenario.plan.model), 8, 512, 128);
    EXPECT_NEAR(p.model_flops_per_gpu * 8 * p.step_time_s / all, 1, 1e-12);
    // Twice as many decoded tokens cost more, where the host does not set the pace.
    scenarios::Scenario replayed = scenario;
    replayed.plan.training.cuda_graph = true;
    scenarios::Scenario longer = replayed;
    longer.plan.training.decoder_seq = 256;
    EXPECT_GT(predict(longer, profiles(), {.advice = false}).step_time_s,
              predict(replayed, profiles(), {.advice = false}).step_time_s);
}

TEST(Predict, DocumentsTakeLessTimeAndCountLess) {
    scenarios::Scenario scenario = small_scenario();
    scenario.plan.training.fused_attention = scenario.plan.training.cuda_graph = true;
    scenario.plan.training.seq = scenario.plan.model.max_positions = 4096;
    const Prediction whole = predict(scenario, profiles(), {.advice = false});
    const strategies::Training& training = scenario.plan.training;
    const std::uint32_t length = scenario.plan.training.document_length = training.seq / 8;
    const Prediction packed = predict(scenario, profiles(), {.advice = false});
    EXPECT_LT(packed.step_time_s, whole.step_time_s);
    const double all =
        models::model_flops(models::build(scenario.plan.model), training.global_batch, training.seq, 0, length);
    EXPECT_NEAR(packed.model_flops_per_gpu * packed.gpus * packed.step_time_s / all, 1, 1e-12);
    EXPECT_LT(packed.hardware_flops_per_gpu * packed.step_time_s, whole.hardware_flops_per_gpu * whole.step_time_s);
}

TEST(Predict, AScanIsMarkedAsDerived) {
    scenarios::Scenario scenario = shipped("nemotron-h-56b-superpod-h100");
    scenario.plan.model.layer_pattern = "M-M*";
    scenario.plan.model.layers = 4;
    const Prediction p = predict(scenario, profiles(), {.advice = false});
    const auto found = std::ranges::find_if(p.derived, [](const Derived& each) {
        return each.what == "state-space scans from their bytes and operations";
    });
    ASSERT_NE(found, p.derived.end());
    EXPECT_GT(found->share, 0.02);
    EXPECT_LT(found->share, 0.5);
}

TEST(Predict, ScaleFactorIsOneWithoutDataParallelism) {
    const Prediction alone = predict(small_scenario(R"({"strategy": {"data": 1}})"), profiles(), {.advice = false});
    EXPECT_EQ(alone.scale_factor, 1);
    EXPECT_EQ(alone.scale_base_gpus, 4U);
    const Prediction scaled = predict(small_scenario(), profiles(), {.advice = false});
    EXPECT_LT(scaled.scale_factor, 1) << "gradients have to be reduced";
    EXPECT_GT(scaled.scale_factor, 0.2);
}

/// Beyond one would mean that more replicas make a replica faster.
TEST(Predict, AClusterScalesNoBetterThanEvenly) {
    for (const char* name : {"gpt2-xl-dgx-2", "bert-large-dgx-1v", "gpt-1.7b-dgx-a100", "llama3-8b-dgx-h100",
                             "resnet-50-dgx-a100", "transformer-xl-base-dgx-a100", "t5-11b-dgx-h100",
                             "vit-h14-dgx-a100", "clip-vit-l14-superpod-a100", "gpt-1.3b-a100-h100"})
        EXPECT_LE(predict(shipped(name), profiles(), {.advice = false}).scale_factor, 1) << name;
}

TEST(Predict, APlanThatDoesNotFitSaysWhatWouldHelp) {
    const Prediction p = predict(small_scenario(R"({"model": {"hidden_size": 12288, "num_attention_heads": 96,
        "num_hidden_layers": 24}})"),
                                 profiles());
    EXPECT_FALSE(p.fits);
    ASSERT_GE(p.advice.size(), 2U);
    EXPECT_NE(p.advice[0].find("does not fit"), std::string::npos) << p.advice[0];
    EXPECT_TRUE(std::any_of(p.advice.begin(), p.advice.end(),
                            [](const std::string& line) { return line.starts_with("distributed optimizer: saves"); }));
}

/// What advice promises is what the changed plan takes.
TEST(Predict, AdviceIsSimulated) {
    const scenarios::Scenario slow =
        small_scenario(R"({"strategy": {"recompute": "full"}, "training": {"cuda_graph": true}})");
    const Prediction p = predict(slow, profiles());
    ASSERT_FALSE(p.advice.empty());
    for (const std::string& line : p.advice) EXPECT_NE(line.find("(-"), std::string::npos) << line;
    EXPECT_TRUE(std::any_of(p.advice.begin(), p.advice.end(), [](const std::string& line) {
        return line.starts_with("no recomputation") || line.starts_with("selective recomputation");
    }));
    EXPECT_FALSE(p.bottleneck.empty());
}

/// What the framework keeps on a GPU belongs to what a plan needs of it: a communicator for each kind of group.
TEST(Predict, WhatTheFrameworkKeepsIsNeededToo) {
    const auto groups = [](const std::string& strategy) {
        const Prediction p = quick(small_scenario(R"({"strategy": )" + strategy + "}"));
        EXPECT_EQ(p.framework.size(), p.memory.size());
        EXPECT_EQ(p.needed(0), p.memory[0].peak + p.framework[0].total());
        EXPECT_DOUBLE_EQ(p.spare(0), static_cast<double>(p.capacity(0)) - static_cast<double>(p.needed(0)));
        EXPECT_GT(p.framework[0].workspaces, 0U);
        EXPECT_GT(p.framework[0].context, 0U);
        const auto one = hardware::framework_memory(hardware::Software::megatron_lm, 80, false, 1).communicators;
        EXPECT_EQ(p.framework[0].communicators % one, 0U);
        return p.framework[0].communicators / one;
    };
    const auto all_data = groups(R"({"tensor": 1, "data": 8})"), mixed = groups(R"({"tensor": 2, "data": 4})");
    EXPECT_GE(all_data, 1U);
    EXPECT_GT(mixed, all_data);
}

TEST(Predict, APlanFitsWithTheFrameworkOrNotAtAll) {
    Prediction p = quick(small_scenario("{}"));
    p.memory_capacity = p.memory[0].peak + 1;
    p.stage_capacity.clear();
    EXPECT_LT(p.spare(p.fullest_stage()), 0) << "its tensors alone would fit";
}

TEST(Predict, MemoryShrinksWithRecomputationAndSharding) {
    const auto peak = [](const std::string& strategy) {
        const Prediction p =
            quick(small_scenario(R"({"strategy": )" + strategy + R"(, "training": {"fused_attention": false}})"));
        return p.memory[0].peak;
    };
    EXPECT_LT(peak(R"({"recompute": "full"})"), peak(R"({"recompute": "selective"})"));
    EXPECT_LT(peak(R"({"recompute": "selective"})"), peak("{}"));
    EXPECT_LT(peak(R"({"sharding": "zero1"})"), peak("{}"));
}

/// A report says which share of the step no measurement stands behind, and the shares are those of its kernels.
TEST(Predict, WarnsOfTimeThatIsDerived) {
    const Prediction p = quick(shipped("mixtral-8x7b-superpod-h100"));
    ASSERT_GE(p.derived.size(), 2U);
    double sum = 0;
    std::set<std::string> what;
    for (const Derived& part : p.derived) {
        EXPECT_GT(part.share, 0);
        EXPECT_LE(part.share, p.derived.front().share) << "the largest first";
        sum += part.share;
        what.insert(part.what);
    }
    EXPECT_TRUE(what.contains("memory-bound kernels from others of like access"));
    EXPECT_TRUE(what.contains("attention backward from forward"));
    EXPECT_LT(sum, 1);
    ASSERT_FALSE(p.warnings.empty());
    EXPECT_NE(p.warnings.front().find(fmt::format("{:.0f}% of the step's time is derived", 100 * sum)),
              std::string::npos)
        << p.warnings.front();
    const auto batched = [](bool fused) {
        const auto step = quick(small_scenario(fmt::format(R"({{"training": {{"fused_attention": {}}}}})", fused)));
        return std::ranges::count(step.derived, "batched products from single ones", &Derived::what);
    };
    EXPECT_EQ(batched(false), 1);
    EXPECT_EQ(batched(true), 0);
}

TEST(Predict, WarnsOfAProfileOfAnotherDevice) {
    scenarios::Scenario scenario = shipped("llama3-8b-dgx-h100");
    const auto warned = [](const Prediction& p) {
        return std::ranges::any_of(p.warnings, [](const std::string& text) {
            return text.find("profile a100 is of NVIDIA A100-SXM4-80GB, but times H100-SXM5-80GB") != std::string::npos;
        });
    };
    EXPECT_FALSE(warned(quick(scenario)));
    scenario.profile = "a100";
    EXPECT_TRUE(warned(quick(scenario)));
}

TEST(Predict, AnUnknownProfileIsRefused) {
    scenarios::Scenario scenario = small_scenario();
    scenario.profile = "a1000";
    EXPECT_THROW((void)predict(scenario), Error);
}

TEST(Predict, TensorGroupsAcrossNodesAreReplayedOperationByOperation) {
    const std::string across = R"({"cluster": {"preset": "ethernet", "gpu": "A100-80GB", "gpus_per_node": 4,
        "nics_per_node": 4, "nic_rate": "200 Gb/s", "nodes": 4}, "strategy": {"tensor": 8, "pipeline": 2, "data": 1}})";
    const std::string inside = R"({"cluster": {"preset": "ethernet", "gpu": "A100-80GB", "gpus_per_node": 8,
        "nics_per_node": 8, "nic_rate": "200 Gb/s", "nodes": 2}, "strategy": {"tensor": 8, "pipeline": 2, "data": 1}})";
    const Options trace{.keep_trace = true, .scale_factor = false, .advice = false};
    const Prediction far = predict(small_scenario(across), profiles(), trace);
    const Prediction near = predict(small_scenario(inside), profiles(), trace);
    EXPECT_TRUE(far.program.blocks.empty());
    EXPECT_FALSE(near.program.blocks.empty());
    EXPECT_EQ(far.ops, near.ops);
    EXPECT_GT(far.step_time_s, near.step_time_s);
}

}  // namespace
}  // namespace orrery::sim
