// Steps that are simulated as shortly as their period allows, against all of them.
#include "sim/period.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using nlohmann::json;

constexpr double exact = 2e-12;  // of sums of some thousand terms

/// random_document() with so many micro-batches that a step repeats itself, under any schedule that it allows.
json long_document(std::uint64_t seed) {
    json document = random_document(seed);
    json& training = document["training"];
    training["global_batch_size"] = training["global_batch_size"].get<std::uint32_t>() * (seed % 3 == 0 ? 24 : 12);
    json& strategy = document["strategy"];
    strategy.erase("replica_micro_batches");
    if (strategy.value("virtual_pipeline", 1) > 1) return document;
    constexpr std::array schedules{"1f1b", "zb-h1", "gpipe", "1f1b"};
    strategy["schedule"] = schedules[seed % schedules.size()];
    if (strategy["schedule"] == "zb-h1") {  // which saves activations twice
        strategy.erase("cpu_offloading_num_layers");
        strategy["recompute"] = "none";
        strategy.erase("recompute_num_layers");
        strategy.erase("recompute_modules");
    }
    return document;
}

void expect_equal(const Breakdown& one, const Breakdown& other, double step) {
    EXPECT_NEAR(one.gemm, other.gemm, exact * step);
    EXPECT_NEAR(one.attention, other.attention, exact * step);
    EXPECT_NEAR(one.memory_bound, other.memory_bound, exact * step);
    EXPECT_NEAR(one.tensor_comm, other.tensor_comm, exact * step);
    EXPECT_NEAR(one.expert_comm, other.expert_comm, exact * step);
    EXPECT_NEAR(one.pipeline_comm, other.pipeline_comm, exact * step);
    EXPECT_NEAR(one.data_comm, other.data_comm, exact * step);
    EXPECT_NEAR(one.offload, other.offload, exact * step);
    EXPECT_NEAR(one.optimizer, other.optimizer, exact * step);
    EXPECT_NEAR(one.launch, other.launch, exact * step);
    EXPECT_NEAR(one.bubble, other.bubble, exact * step);
}

void expect_equal(const Prediction& one, const Prediction& other) {
    EXPECT_NEAR(one.step_time_s, other.step_time_s, exact * other.step_time_s);
    ASSERT_EQ(one.stages.size(), other.stages.size());
    for (std::size_t stage = 0; stage < one.stages.size(); ++stage) {
        SCOPED_TRACE(fmt::format("stage {}", stage));
        expect_equal(one.stages[stage], other.stages[stage], other.step_time_s);
        EXPECT_EQ(one.memory[stage].at_peak, other.memory[stage].at_peak);
        EXPECT_EQ(one.memory[stage].before_backward, other.memory[stage].before_backward);
        EXPECT_EQ(one.memory[stage].after_backward, other.memory[stage].after_backward);
        EXPECT_EQ(one.memory[stage].after_optimizer, other.memory[stage].after_optimizer);
        EXPECT_EQ(one.memory[stage].host, other.memory[stage].host);
    }
    EXPECT_EQ(one.ops, other.ops);
    EXPECT_NEAR(one.hfu, other.hfu, exact);
    EXPECT_EQ(one.warnings, other.warnings);
}

TEST(Period, RandomPlansTakeAsLongAsAllOfThem) {
    int repeated = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const json document = long_document(seed);
        SCOPED_TRACE(fmt::format("seed {}: {}", seed, document.dump()));
        const scenarios::Scenario scenario = scenario_of(document);
        const Prediction all =
            predict(scenario, profiles(), {.keep_trace = true, .scale_factor = false, .advice = false});
        expect_equal(quick(scenario), all);
        const topology::Cluster cluster = topology::build(scenario.cluster);
        if (run_plan(scenario.plan, cluster, profiles().find(scenario.profile))->period) ++repeated;
    }
    EXPECT_GE(repeated, 30);
}

bool repeats(const scenarios::Scenario& scenario) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    return run_plan(scenario.plan, cluster, profiles().find(scenario.profile))->period.has_value();
}

Prediction whole(const scenarios::Scenario& scenario) {
    return predict(scenario, profiles(), {.keep_trace = true, .scale_factor = false, .advice = false});
}

/// Their window is written out for a trace, with a beginning and an end that a long training hardly has.
TEST(Period, WithoutFlushesAllButTheTraceIsOfALongWindow) {
    for (const char* schedule : {"pipedream", "pipedream-2bw"}) {
        SCOPED_TRACE(schedule);
        const auto scenario = small_scenario(fmt::format(
            R"({{"model": {{"tie_word_embeddings": false}}, "training": {{"global_batch_size": 256}},
                "strategy": {{"schedule": "{}", "tensor": 1, "pipeline": 4}}}})",
            schedule));
        const Prediction traced = whole(scenario);
        expect_equal(quick(scenario), traced);
        EXPECT_FALSE(traced.trace.empty());
    }
}

TEST(Period, ShowsUnderSchedulesThatAreSteady) {
    for (const char* strategy : {R"({"schedule": "1f1b"})", R"({"schedule": "interleaved", "virtual_pipeline": 2})",
                                 R"({"sharding": "zero3"})", R"({"overlap_grad_reduce": true, "sharding": "zero1"})"}) {
        SCOPED_TRACE(strategy);
        const auto scenario =
            small_scenario(fmt::format(R"({{"strategy": {}, "training": {{"global_batch_size": 256}}}})", strategy));
        EXPECT_TRUE(repeats(scenario));
        expect_equal(quick(scenario), whole(scenario));
    }
    EXPECT_FALSE(
        repeats(small_scenario(R"({"strategy": {"schedule": "gpipe"}, "training": {"global_batch_size": 256}})")));
}

TEST(Period, ShowsWithExperts) {
    const auto scenario = scenarios::load("scenarios/mixtral-8x7b-superpod-h100.json",
                                          {scenarios::parse_override("training.global_batch_size=2048"),
                                           scenarios::parse_override("strategy.virtual_pipeline=2")});
    EXPECT_TRUE(repeats(scenario));
    expect_equal(quick(scenario), whole(scenario));
}

TEST(Period, DoesNotShowThroughPerturbations) {
    for (const char* table : {R"({"stragglers": ["rank 3 x 1.5"]})", R"({"jitter": 0.1})"}) {
        SCOPED_TRACE(table);
        const auto scenario =
            small_scenario(fmt::format(R"({{"perturbations": {}, "training": {{"global_batch_size": 128}}}})", table));
        const topology::Cluster cluster = topology::build(scenario.cluster);
        const Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
        const auto& predictor = profiles().find(scenario.profile);
        const auto ran = run_plan(scenario.plan, cluster, predictor, {.perturbed = &perturbed});
        EXPECT_FALSE(ran->period);
        const RanStep all(scenario.plan, cluster, predictor, {.perturbed = &perturbed});
        EXPECT_EQ(ran->seconds(), all.seconds());
        expect_equal(quick(scenario), whole(scenario));
    }
}

TEST(Session, SharedByPredictionsChangesNone) {
    Session session;
    for (const std::uint32_t data : {2, 4, 2})
        for (const char* schedule : {"1f1b", "zb-h1"}) {
            const auto scenario =
                small_scenario(fmt::format(R"({{"strategy": {{"data": {}, "schedule": "{}"}}}})", data, schedule));
            const Prediction alone = quick(scenario);
            const Prediction shared =
                predict(scenario, profiles(), {.scale_factor = false, .advice = false, .session = &session});
            EXPECT_EQ(alone.step_time_s, shared.step_time_s);
            expect_equal(shared, alone);
        }
}

}  // namespace
}  // namespace orrery::sim
