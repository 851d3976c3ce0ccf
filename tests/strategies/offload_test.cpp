// Activations in host memory between forward and backward: what is copied, when, and what the device's memory gains.
#include "strategies/offload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/error.hpp"
#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan offloading(std::uint32_t layers, std::uint32_t of = 8) {
    Plan plan = tiny_plan();
    plan.model.layers = of;
    plan.strategy.cpu_offloading_num_layers = layers;
    return plan;
}

const Copy* copy_of(const Op& op) { return std::get_if<Copy>(&op.what); }

/// The operation's number in the program, by label.
std::uint32_t find(const StepProgram& step, const Program& program, std::string_view name, std::int32_t layer,
                   std::int32_t micro_batch) {
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const Label& label = program.ops[i].label;
        if (step.names[label.name] == name && label.layer == layer && label.micro_batch == micro_batch) return i;
    }
    ADD_FAILURE() << name << " of layer " << layer << " is missing";
    return 0;
}

bool waits_for(const Program& program, std::uint32_t op, std::uint32_t other) {
    const Hazards hazards(program);
    return std::ranges::count(hazards.of(op), other) > 0;
}

TEST(Offload, WithoutItNothingIsCopied) {
    const StepProgram step = build(offloading(0));
    for (const Op& op : step.programs[0].ops) EXPECT_EQ(copy_of(op), nullptr);
    EXPECT_EQ(memory(step, 0).host, 0U);
}

/// Bytes out are bytes in are what the layers save, once a micro-batch.
TEST(Offload, WhatGoesOutComesBack) {
    for (const auto schedule : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b, ScheduleKind::interleaved})
        for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
            Plan plan = offloading(2);
            plan.strategy.pipeline = 2;
            plan.strategy.schedule = schedule;
            plan.strategy.virtual_pipeline = schedule == ScheduleKind::interleaved ? 2 : 1;
            plan.strategy.recompute = recompute;
            validate(plan);
            const StepProgram step = build(plan);
            StepProgram scratch;
            Intern intern(scratch);
            const std::uint64_t saved = add_model_blocks(scratch, intern, plan).of("block").recomputed.saved_bytes;
            const std::uint64_t copies = 2ULL * plan.strategy.virtual_pipeline * plan.micro_batches();
            EXPECT_EQ(verify(step), std::vector<std::string>{});
            for (const Program& program : step.programs) {
                std::map<Copy::To, std::uint64_t> count, bytes;
                for (const Op& op : program.ops)
                    if (const Copy* copy = copy_of(op)) {
                        ++count[copy->to];
                        bytes[copy->to] += copy->bytes;
                        EXPECT_EQ(op.lane, copy->to == Copy::To::host ? Lane::offload : Lane::reload);
                    }
                for (const auto to : {Copy::To::host, Copy::To::device}) {
                    EXPECT_EQ(count[to], copies);
                    EXPECT_EQ(bytes[to], copies * saved);
                }
            }
        }
}

/// All layers: a copy runs beside the next layer, which the one behind it waits for; a third of them: it has two
/// layers.
TEST(Offload, TheForwardRunsAheadOfCopiesByTheLayersThatTheyAreSpreadOver) {
    for (const std::uint32_t layers : {9U, 3U}) {
        const StepProgram step = build(offloading(layers, 9));
        const Program& program = step.programs[0];
        const std::int32_t ahead = layers == 9 ? 1 : 2;
        const std::uint32_t copy = find(step, program, "offload", 0, 1);
        for (std::int32_t layer = 1; layer <= ahead; ++layer)
            EXPECT_FALSE(waits_for(program, find(step, program, "forward", layer, 1), copy)) << layer;
        EXPECT_TRUE(waits_for(program, find(step, program, "forward", ahead + 1, 1), copy));
        EXPECT_TRUE(waits_for(program, copy, find(step, program, "forward", 0, 1)));
    }
}

TEST(Offload, CopiesBackBeginBesideTheLayersAbove) {
    for (const std::uint32_t layers : {9U, 3U}) {
        const StepProgram step = build(offloading(layers, 9));
        const Program& program = step.programs[0];
        const std::int32_t ahead = layers == 9 ? 1 : 2;
        const std::uint32_t copy = find(step, program, "reload", 0, 1);
        EXPECT_TRUE(waits_for(program, copy, find(step, program, "backward", ahead + 1, 1)));
        EXPECT_FALSE(waits_for(program, copy, find(step, program, "backward", ahead, 1)));
        EXPECT_TRUE(waits_for(program, copy, find(step, program, "offload", 0, 1)));
        EXPECT_TRUE(waits_for(program, find(step, program, "backward", 0, 1), copy));
        EXPECT_FALSE(waits_for(program, find(step, program, "backward", 1, 1), copy));
    }
}

/// A stage without the head begins a backward with an offloaded layer: its copy runs beside the call before.
TEST(Offload, AMiddleStageReloadsBesideTheSlotBefore) {
    Plan plan = offloading(2);
    plan.strategy.pipeline = 4;
    plan.training.global_batch = 2 * 8;
    const StepProgram step = build(plan);
    const Program& program = step.programs[1];
    const std::uint32_t copy = find(step, program, "reload", 3, 1);
    const std::uint32_t backward = find(step, program, "backward", 3, 1);
    EXPECT_TRUE(waits_for(program, backward, copy));
    const std::uint32_t before = find(step, program, "forward", 3, 3);  // 1F1B: two micro-batches are under way
    EXPECT_LT(copy, before);
    EXPECT_FALSE(waits_for(program, copy, before));
    EXPECT_LT(before, backward);
}

/// With all layers offloaded the one that comes back first is on the device at the peak, the head's backward, whatever
/// the depth.
TEST(Offload, TheDeviceKeepsWhatIsUnderWay) {
    for (const std::uint32_t of : {4U, 8U, 16U}) {
        Plan resident = offloading(0, of), away = offloading(of, of);
        resident.model.vocab = away.model.vocab = 8000;  // of logits that outweigh a layer's scores
        const StageMemory none = memory(build(resident), 0), all = memory(build(away), 0);
        StepProgram scratch;
        Intern intern(scratch);
        const std::uint64_t saved = add_model_blocks(scratch, intern, offloading(0, of)).of("block").plain.saved_bytes;
        const auto activations = static_cast<std::size_t>(Keep::activation);
        EXPECT_EQ(none.at_peak[activations] - all.at_peak[activations], (of - 1) * saved);
        EXPECT_EQ(all.host, of * saved);
    }
}

/// As many micro-batches wait in host memory as the schedule keeps.
TEST(Offload, HostMemoryFollowsTheSchedule) {
    Plan plan = offloading(2);
    plan.strategy.pipeline = 4;
    plan.training.global_batch = 2 * 8;
    StepProgram scratch;
    Intern intern(scratch);
    const std::uint64_t saved = 2 * add_model_blocks(scratch, intern, plan).of("block").plain.saved_bytes;
    plan.strategy.schedule = ScheduleKind::gpipe;
    EXPECT_EQ(memory(build(plan), 1).host, 8 * saved);
    plan.strategy.schedule = ScheduleKind::one_f_one_b;
    EXPECT_LE(memory(build(plan), 1).host, 3 * saved);
    EXPECT_GE(memory(build(plan), 1).host, 2 * saved);
}

TEST(Offload, MoreLayersNeverNeedMoreOfTheDevice) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937_64 random(seed);
        const auto one_of = [&](std::initializer_list<std::uint32_t> values) {
            return *std::next(values.begin(), static_cast<std::ptrdiff_t>(random() % values.size()));
        };
        Plan plan = tiny_plan(one_of({1, 2}), one_of({1, 2, 4}));
        const bool chunked = plan.strategy.pipeline > 1 && random() % 2 == 0;
        plan.strategy.virtual_pipeline = chunked ? 2 : 1;
        plan.strategy.schedule = chunked             ? ScheduleKind::interleaved
                                 : random() % 2 == 0 ? ScheduleKind::gpipe
                                                     : ScheduleKind::one_f_one_b;
        const std::uint32_t chunk = one_of({1, 2, 3, 5, 8});
        plan.model.layers = plan.strategy.pipeline * plan.strategy.virtual_pipeline * chunk;
        plan.training.global_batch = 2 * 4 * one_of({1, 2, 3});
        plan.strategy.recompute = random() % 2 == 0 ? Recompute::none : Recompute::selective;
        std::vector<StageMemory> before;
        for (std::uint32_t layers = 0; layers <= chunk; ++layers) {
            plan.strategy.cpu_offloading_num_layers = layers;
            validate(plan);
            const StepProgram step = build(plan);
            ASSERT_EQ(verify(step), std::vector<std::string>{});
            std::vector<StageMemory> now;
            for (std::uint32_t stage = 0; stage < plan.strategy.pipeline; ++stage) {
                now.push_back(memory(step, stage));
                if (layers == 0) continue;
                EXPECT_LE(now[stage].peak, before[stage].peak) << layers << " layers, stage " << stage;
                EXPECT_GE(now[stage].host, before[stage].host) << layers << " layers, stage " << stage;
            }
            before = std::move(now);
        }
    }
}

TEST(Offload, UnrollingChangesNoMemory) {
    Plan plan = offloading(3);
    plan.strategy.pipeline = 2;
    const StepProgram step = build(plan), flat = unrolled(step);
    EXPECT_EQ(verify(flat), std::vector<std::string>{});
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
        EXPECT_EQ(memory(flat, stage).peak, memory(step, stage).peak);
        EXPECT_EQ(memory(flat, stage).host, memory(step, stage).host);
    }
}

TEST(Offload, MoreLayersThanAChunkHasAreRefused) {
    Plan plan = offloading(5);
    plan.strategy.pipeline = 2;
    try {
        validate(plan);
        FAIL() << "not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/strategy/cpu_offloading_num_layers");
        EXPECT_NE(std::string(error.what()).find("nearest legal value: 4"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace orrery::strategies
