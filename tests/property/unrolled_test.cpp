// A call of a block is accounted as its operations are: a step predicted with calls, operation by operation, and with a
// straggler of next to nothing is one prediction, in time and in where the time goes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/breakdown.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

constexpr double tolerance = 1e-9;

constexpr std::pair<const char*, double Breakdown::*> parts[] = {
    {"gemm", &Breakdown::gemm},
    {"attention", &Breakdown::attention},
    {"memory_bound", &Breakdown::memory_bound},
    {"tensor_comm", &Breakdown::tensor_comm},
    {"expert_comm", &Breakdown::expert_comm},
    {"pipeline_comm", &Breakdown::pipeline_comm},
    {"data_comm", &Breakdown::data_comm},
    {"offload", &Breakdown::offload},
    {"optimizer", &Breakdown::optimizer},
    {"launch", &Breakdown::launch},
    {"bubble", &Breakdown::bubble},
};

void expect_same(const Prediction& one, const Prediction& other, const std::string& what) {
    SCOPED_TRACE(what);
    const double seconds = tolerance * one.step_time_s;
    EXPECT_NEAR(one.step_time_s, other.step_time_s, seconds);
    ASSERT_EQ(one.stages.size(), other.stages.size());
    for (std::size_t stage = 0; stage < one.stages.size(); ++stage) {
        for (const auto& [name, part] : parts)
            EXPECT_NEAR(one.stages[stage].*part, other.stages[stage].*part, seconds) << name << " of stage " << stage;
        EXPECT_EQ(one.memory[stage].peak, other.memory[stage].peak) << "stage " << stage;
    }
}

/// As planned, operation by operation, and with a rank that is slower by less than anyone can tell.
void expect_one_prediction(scenarios::Scenario scenario, std::uint32_t rank) {
    Options options{.scale_factor = false, .advice = false};
    const Prediction planned = predict(scenario, profiles(), options);
    options.unroll = true;
    expect_same(planned, predict(scenario, profiles(), options), "operation by operation");
    options.unroll = false;
    scenario.perturbations.stragglers = {{rank, rank, 1 + 1e-13, {}}};
    expect_same(planned, predict(scenario, profiles(), options), fmt::format("rank {} slower by 1e-13", rank));
}

class Unrolled : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Unrolled, OperationsAreTimedAsTheirCalls) {
    for (std::uint64_t seed = GetParam(); seed < GetParam() + 20; ++seed) {
        const nlohmann::json document = random_document(seed);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + document.dump());
        const scenarios::Scenario scenario = scenario_of(document);
        expect_one_prediction(scenario, static_cast<std::uint32_t>(seed % scenario.gpus));
        if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Property, Unrolled, testing::Range<std::uint64_t>(5000, 6000, 20));

/// Layers of two micro-batches in one call, with and without a host that waits inside them.
TEST(UnrolledSteps, LayersBesideEachOtherAreOnePrediction) {
    for (const char* plan : {R"("pipeline": 1, "data": 16)", R"("pipeline": 2, "virtual_pipeline": 2, "data": 8)"})
        for (const char* graph : {"true", "false"}) {
            const scenarios::Scenario scenario = small_scenario(fmt::format(
                R"({{"model": {{"num_experts": 8, "moe_intermediate_size": 2048}},
                    "strategy": {{"tensor": 1, {}, "expert": 8, "overlap_moe_expert_parallel_comm": true}},
                    "training": {{"cuda_graph": {}}}}})",
                plan, graph));
            expect_one_prediction(scenario, 3);
        }
}

/// Gradients and parameters beside tensor-parallel layers: where this was first seen to differ, by 0.6%.
TEST(UnrolledSteps, ShippedScenariosAreOnePrediction) {
    for (const char* file : {"gpt-22b-superpod-h100", "gpt-1.7b-dgx-a100", "bert-large-dgx-1v", "mistral-7b-dgx-a100",
                             "gpt-tiny-cpu", "mixtral-tiny-cpu", "t5-11b-dgx-h100", "vit-h14-dgx-a100"}) {
        SCOPED_TRACE(file);
        expect_one_prediction(scenarios::load(std::filesystem::path("scenarios") / (std::string(file) + ".json")), 0);
    }
}

}  // namespace
}  // namespace orrery::sim
