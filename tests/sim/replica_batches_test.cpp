// Steps whose data ranks take unequal numbers of micro-batches.
#include "strategies/replica_batches.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "sim/advice.hpp"
#include "sim/scale_curve.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

/// Four data ranks of long kernels, two on a node of A100 and two on a node of another GPU, with a list.
scenarios::Scenario with(const std::string& list, std::uint32_t micro_batches, const std::string& gpu = "A100-80GB",
                         const std::string& schedule = "1f1b") {
    return small_scenario(fmt::format(
        R"({{"model": {{"hidden_size": 4096, "num_attention_heads": 32}},
             "cluster": {{"preset": "dgx-a100", "nodes": 1, "more_nodes": ["1 x {}"]}},
             "strategy": {{"tensor": 2, "pipeline": 2, "data": 4, "placement": "tp-pp-dp", "schedule": "{}",
                           "replica_micro_batches": "{}"}},
             "training": {{"seq_length": 2048, "cuda_graph": true, "global_batch_size": {}}}}})",
        gpu, schedule, list, micro_batches));
}

TEST(ReplicaBatchesInTime, EqualNumbersAreThePlanWithoutThem) {
    for (const char* list : {"4x24", "24,24,24,24"}) {
        scenarios::Scenario plain = with("4x24", 96);
        plain.plan.strategy.replica_micro_batches.clear();
        const Prediction listed = predict(with(list, 96)), as_ever = predict(plain);
        EXPECT_EQ(listed.step_time_s, as_ever.step_time_s);
        EXPECT_EQ(listed.scale_factor, as_ever.scale_factor);
        EXPECT_EQ(listed.advice, as_ever.advice);
        EXPECT_EQ(listed.ops, as_ever.ops);
        EXPECT_EQ(listed.classes, as_ever.classes);
        EXPECT_EQ(listed.memory[0].peak, as_ever.memory[0].peak);
    }
}

/// Where nothing contends and nothing hides, the ranks that take most decide; the others wait for them.
TEST(ReplicaBatchesInTime, TheStepIsThatOfTheSlowest) {
    const auto one_node = [](const std::string& list, std::uint32_t all) {
        return quick(small_scenario(fmt::format(
            R"({{"cluster": {{"nodes": 1}}, "strategy": {{"tensor": 1, "pipeline": 2, "data": 4,
                 "replica_micro_batches": "{}"}}, "training": {{"global_batch_size": {}}}}})",
            list, all)));
    };
    const Prediction slowest = one_node("4x9", 36), mixed = one_node("9,2,5,1", 17);
    EXPECT_NEAR(mixed.step_time_s, slowest.step_time_s, 1e-9 * slowest.step_time_s);
    EXPECT_NEAR(mixed.tokens_per_s * 36, slowest.tokens_per_s * 17, 1e-6 * mixed.tokens_per_s * 36);
    ASSERT_EQ(mixed.stages.size(), 2U) << "one row a stage, that of its slowest rank";
    EXPECT_NEAR(mixed.stages[1].bubble, slowest.stages[1].bubble, 1e-9 * slowest.step_time_s);
}

TEST(ReplicaBatchesInTime, FasterGpusThatTakeMoreMakeAFasterStep) {
    const Prediction equal = quick(with("4x24", 96, "H100")), by_rate = quick(with("2x16,2x32", 96, "H100")),
                     wrong = quick(with("2x32,2x16", 96, "H100"));
    EXPECT_LT(by_rate.step_time_s, 0.9 * equal.step_time_s);
    EXPECT_GT(wrong.step_time_s, 1.1 * equal.step_time_s);
    ASSERT_EQ(by_rate.gpu_kinds.size(), 2U);
    EXPECT_EQ(by_rate.gpu_kinds[1].gpus, 8U);
}

/// The first replica takes 16 of 96 micro-batches: four of it would do two thirds of the step's work.
TEST(ReplicaBatchesInTime, TheScaleFactorCountsShares) {
    const scenarios::Scenario scenario = with("2x16,2x32", 96);
    calibrate::ProfileStore store;
    const Prediction p = predict(scenario, store, {});
    scenarios::Scenario alone = scenario;
    alone.plan = strategies::first_replicas(scenario.plan, 1);
    EXPECT_EQ(alone.plan.training.global_batch, 16U);
    const Prediction first = quick(alone);
    EXPECT_NEAR(p.scale_factor, first.step_time_s / p.step_time_s * 96 / (4 * 16), 1e-9);
    const std::vector<ScalePoint> curve = scale_curve(scenario, p, store);
    ASSERT_EQ(curve.size(), 3U);
    EXPECT_EQ(curve[0].scale_factor, 1);
    EXPECT_GT(curve[1].scale_factor, 0.8);
    EXPECT_LE(curve[1].scale_factor, 1.0 + 1e-9);
}

/// Each kind is held against itself: replicas that take shares by their rates scale as on one kind, and no division
/// scales beyond what they make alone.
TEST(ReplicaBatchesInTime, TheScaleFactorKnowsEveryKindOfGpu) {
    calibrate::ProfileStore store;
    const auto factor = [&](const char* list) { return predict(with(list, 96, "H100"), store, {}).scale_factor; };
    const double one_kind = predict(with("4x24", 96), store, {}).scale_factor;
    EXPECT_NEAR(factor("2x12,2x36"), one_kind, 0.1);
    EXPECT_LT(factor("2x12,2x36"), 1.0);
    EXPECT_LT(factor("4x24"), factor("2x12,2x36") - 0.2) << "the quicker wait";
}

/// GPipe keeps all micro-batches: ranks on the smaller GPUs fit because they take few, and those that take many do not.
TEST(ReplicaBatchesInTime, EachNumberIsHeldAgainstTheGpusOfItsRanks) {
    const Prediction few = quick(with("2x80,2x4", 168, "A100-40GB", "gpipe")),
                     many = quick(with("2x4,2x80", 168, "A100-40GB", "gpipe"));
    constexpr std::uint64_t gib = 1ULL << 30U;
    const std::size_t stage = few.fullest_stage();
    ASSERT_GT(few.needed(stage), 40 * gib);
    ASSERT_LT(few.needed(stage), 80 * gib);
    EXPECT_EQ(few.capacity(stage), 80 * gib);
    EXPECT_TRUE(few.fits);
    EXPECT_FALSE(many.fits);
    EXPECT_EQ(many.capacity(many.fullest_stage()), 40 * gib);
    EXPECT_EQ(few.memory.size(), 2U);
    EXPECT_EQ(few.memory[1].role, 2U);
    EXPECT_EQ(many.memory[1].role, 3U);
}

/// Neighbouring plans have the list too, where it is legal for them.
TEST(ReplicaBatchesInTime, AdviceKeepsTheList) {
    const Prediction p = predict(with("2x3,2x5", 16));
    EXPECT_TRUE(std::ranges::any_of(
        p.advice, [](const std::string& text) { return text.starts_with("overlapped gradient reduction"); }));
}

TEST(ReplicaBatchesInTime, WindowsOfReplicasAreRefused) {
    try {
        (void)small_scenario(R"({"strategy": {"replica_micro_batches": "2x7,2x9"},
                                 "synchrony": {"steps": 10}})");
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/strategy/replica_micro_batches");
    }
}

}  // namespace
}  // namespace orrery::sim
