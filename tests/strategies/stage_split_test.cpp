// Stages of unequal depth, as Megatron-LM divides layers.
#include "strategies/stage_split.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// 8 layers on 4 stages.
Plan plan_of(std::uint32_t layers = 8, std::uint32_t stages = 4, std::uint32_t chunks = 1) {
    Plan plan = tiny_plan(1, stages, 1);
    plan.model.layers = layers;
    plan.strategy.virtual_pipeline = chunks;
    if (chunks > 1) plan.strategy.schedule = ScheduleKind::interleaved;
    return plan;
}

/// Layers of each virtual stage; they must follow each other without a gap.
std::vector<std::uint32_t> counts(const Plan& plan) {
    std::vector<std::uint32_t> list;
    std::uint32_t next = 0;
    for (std::uint32_t at = 0; at < plan.strategy.pipeline * plan.strategy.virtual_pipeline; ++at) {
        const LayerRange range = layers_of(plan, plan.model.layers, at);
        EXPECT_EQ(range.first, next) << at;
        next += range.count;
        list.push_back(range.count);
    }
    EXPECT_EQ(next, plan.model.layers);
    return list;
}

std::string refusal(const Plan& plan) {
    try {
        check_stages(plan);
        return "";
    } catch (const Error& error) {
        return std::string(error.pointer()) + ": " + error.message() + "; " + error.hint();
    }
}

using Counts = std::vector<std::uint32_t>;

TEST(StageSplit, EqualWhereNothingIsSaid) {
    EXPECT_EQ(counts(plan_of()), (Counts{2, 2, 2, 2}));
    EXPECT_EQ(counts(plan_of(16, 4, 2)), (Counts{2, 2, 2, 2, 2, 2, 2, 2}));
    EXPECT_FALSE(unequal_stages(plan_of()));
}

TEST(StageSplit, FirstAndLastStageOfTheirOwnDepth) {
    Plan plan = plan_of(8, 4);
    plan.strategy.first_stage_layers = 1;
    plan.strategy.last_stage_layers = 3;
    EXPECT_EQ(counts(plan), (Counts{1, 2, 2, 3}));
    plan.strategy.last_stage_layers = 0;
    plan.model.layers = 10;
    EXPECT_EQ(counts(plan), (Counts{1, 3, 3, 3}));
    Plan chunked = plan_of(20, 4, 2);
    chunked.strategy.first_stage_layers = 2;
    chunked.strategy.last_stage_layers = 6;
    EXPECT_EQ(counts(chunked), (Counts{1, 3, 3, 3, 1, 3, 3, 3}));
    EXPECT_EQ(chunk_sizes(chunked), std::pair(1U, 3U));
    EXPECT_EQ(refusal(chunked), "");
}

/// Llama 3.1 405B in NeMo: 126 layers, embedding and loss, on 8 stages of 8 chunks... here of 4 and 2.
TEST(StageSplit, EmbeddingAndLossCountAsLayers) {
    Plan plan = plan_of(14, 4, 2);
    plan.strategy.embedding_as_layer = plan.strategy.loss_as_layer = true;
    EXPECT_EQ(counts(plan), (Counts{1, 2, 2, 2, 2, 2, 2, 1}));
    plan.strategy.loss_as_layer = false;
    plan.model.layers = 15;
    EXPECT_EQ(counts(plan), (Counts{1, 2, 2, 2, 2, 2, 2, 2}));
    EXPECT_EQ(refusal(plan), "");
}

TEST(StageSplit, AListSaysAll) {
    Plan plan = plan_of(8, 4);
    plan.strategy.pipeline_layers = "0,3,4,1";
    EXPECT_EQ(counts(plan), (Counts{0, 3, 4, 1}));
    EXPECT_EQ(refusal(plan), "");
}

/// Megatron-core, docs of pipeline_model_parallel_layout.
TEST(StageSplit, LayoutsOfMegatron) {
    EXPECT_EQ(layers_of_layout("Et*3|(tt|)*2L"), "3,2,2,0");
    EXPECT_EQ(layers_of_layout("Et|tt|tt|tL"), "1,2,2,1");
    EXPECT_EQ(layers_of_layout("E,t*2 | t*2 , L"), "2,2");
    EXPECT_EQ(layers_of_layout("E|(t|)*3L"), "0,1,1,1,0");
    for (const char* other :
         {"", "Et*3|(tt|)*2mL", "tt|tt", "Et|(t|L", "Et)|L", "Et*|L*", "E", "E(((t*65535)*65535)*65535)L"})
        EXPECT_EQ(layers_of_layout(other), "") << other;
}

TEST(StageSplit, WhatDoesNotDivideIsRefusedWithARemedy) {
    const auto with = [](auto change) {
        Plan plan = plan_of();
        change(plan.strategy);
        return refusal(plan);
    };
    using S = Strategy&;
    EXPECT_NE(with([](S s) { s.pipeline = 3; }).find("/strategy/pipeline: 3 stages do not divide the 8 layers"),
              std::string::npos);
    EXPECT_NE(with([](S s) { s.first_stage_layers = 3; }).find("it leaves 5 layers for 3 stages"), std::string::npos);
    EXPECT_NE(with([](S s) { s.first_stage_layers = 9; }).find("9 layers, but the model has 8"), std::string::npos);
    EXPECT_NE(with([](S s) { s.embedding_as_layer = true; }).find("9 layers, counted so"), std::string::npos);
    EXPECT_NE(with([](S s) { s.pipeline_layers = "2,2,2"; }).find("3 numbers for 4 stages"), std::string::npos);
    EXPECT_NE(with([](S s) { s.pipeline_layers = "2,2,2,3"; }).find("9 layers in all"), std::string::npos);
    EXPECT_NE(with([](S s) { s.pipeline_layers = "4,0,0,4"; }).find("no layers"), std::string::npos);
    EXPECT_NE(with([](S s) { s.pipeline_layers = "two"; }).find("no list of numbers"), std::string::npos);
    EXPECT_NE(with([](S s) { s.pipeline_layers = "2,2,2,99999999999"; }).find("no list of numbers"), std::string::npos);
    EXPECT_NE(with([](S s) {
                  s.pipeline_layers = "2,2,2,2";
                  s.first_stage_layers = 2;
              }).find("in two ways at once"),
              std::string::npos);
}

/// The same stages said in three ways are the same program; and what a stage has more, others have less.
TEST(StageSplit, AllWaysToTheSameProgram) {
    Plan by_ends = plan_of(6, 4), by_list = by_ends, counted = by_ends;
    by_ends.strategy.first_stage_layers = by_ends.strategy.last_stage_layers = 1;
    by_list.strategy.pipeline_layers = "1,2,2,1";
    counted.strategy.embedding_as_layer = counted.strategy.loss_as_layer = true;
    for (Plan* plan : {&by_ends, &by_list, &counted}) validate(*plan);
    const StepProgram one = build(by_ends);
    EXPECT_TRUE(verify(one).empty());
    for (std::uint32_t role = 0; role < 4; ++role) {
        EXPECT_EQ(to_text(one, role), to_text(build(by_list), role));
        EXPECT_EQ(to_text(one, role), to_text(build(counted), role));
    }
}

}  // namespace
}  // namespace orrery::strategies
