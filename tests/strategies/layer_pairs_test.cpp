// Forwards beside backwards: the same work, once, with exchanges of tokens on a lane of their own.
#include "strategies/layer_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "strategies/partition/experts.hpp"
#include "strategies/schedule/verify_schedule.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan paired(Plan plan) {
    plan.strategy.overlap_expert_exchanges = true;
    return plan;
}

/// Plans that pair layers: without a pipeline, and interleaved; with each dispatcher, and a host that waits or not.
std::vector<Plan> plans() {
    std::vector<Plan> list;
    for (const Dispatcher dispatcher : {Dispatcher::alltoall, Dispatcher::flex})
        for (const Recompute recompute : {Recompute::none, Recompute::selective})
            for (const std::uint32_t tensor : {1U, 2U})
                for (const std::uint32_t pipeline : {1U, 2U})
                    for (const bool waits : {false, true}) {
                        Plan plan = moe_plan(tensor, pipeline, 4, 4);
                        if (pipeline > 1) {
                            plan.strategy.schedule = ScheduleKind::interleaved;
                            plan.strategy.virtual_pipeline = 2;
                        }
                        plan.strategy.dispatcher = dispatcher;
                        plan.strategy.recompute = recompute;
                        plan.training.global_batch *= 2;
                        if (!waits) plan.training.software = hardware::Software::orrery;
                        list.push_back(plan);
                    }
    return list;
}

std::map<std::string, std::size_t> works(const StepProgram& step, std::uint32_t role) {
    const StepProgram all = unrolled(step);
    std::map<std::string, std::size_t> names;
    for (const Op& op : all.programs[role].ops)
        if (step.names[op.label.name] != "boundary exchange")  // one a window of slots, of which there are others
            ++names[step.names[op.label.name] + std::string(name(op.label.phase))];
    return names;
}

TEST(LayerPairs, DoTheSameWorkOnce) {
    for (const Plan& plan : plans()) {
        const StepProgram alone = build(plan), step = build(paired(plan));
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        EXPECT_EQ(verify(unrolled(step)), std::vector<std::string>{});
        EXPECT_EQ(kernel_flops(step), kernel_flops(alone));
        ASSERT_EQ(step.programs.size(), alone.programs.size());
        for (std::uint32_t role = 0; role < step.programs.size(); ++role)
            EXPECT_EQ(works(step, role), works(alone, role));
    }
}

/// All exchanges of a pair but one that nothing stands before, as the first of flex where the host has waited.
TEST(LayerPairs, ExchangeBesideTheOtherMicroBatch) {
    for (const Plan& plan : plans()) {
        const StepProgram step = build(paired(plan));
        std::size_t pairs = 0;
        for (const Program& block : step.blocks) {
            if (block.name.find("beside") == std::string::npos) continue;
            ++pairs;
            EXPECT_EQ(block.ops.front().lane, Lane::compute);
            EXPECT_EQ(block.ops.back().lane, Lane::compute);
            std::size_t exchanges = 0, beside = 0;
            for (const Op& op : block.ops) {
                const auto* const collective = std::get_if<Collective>(&op.what);
                if (collective == nullptr || !collective->group.has(Axis::expert)) continue;
                ++exchanges;
                beside += op.lane == Lane::expert ? 1 : 0;
            }
            EXPECT_EQ(exchanges, 4U) << block.name;
            const bool begins = plan.strategy.dispatcher == Dispatcher::flex && host_reads_counts(plan.training);
            EXPECT_EQ(beside, exchanges - (begins ? 1 : 0)) << block.name;
        }
        EXPECT_EQ(pairs, 1U) << "one type of layer";
    }
}

/// Each stage is one forward further ahead: what it keeps is one micro-batch's of a chunk more, where there are enough.
TEST(LayerPairs, KeepOneMicroBatchMore) {
    for (const Plan& plan : plans()) {
        const StepProgram alone = build(plan), step = build(paired(plan));
        for (std::uint32_t role = 0; role < step.programs.size(); ++role) {
            EXPECT_GT(memory(step, role).peak, memory(alone, role).peak);
            EXPECT_LT(memory(step, role).peak, 2 * memory(alone, role).peak);
        }
    }
}

TEST(LayerPairs, SchedulesAreSound) {
    for (const std::uint32_t pipeline : {1U, 2U, 4U})
        for (const std::uint32_t chunks : {1U, 2U, 3U})
            for (const std::uint32_t rounds : {1U, 2U, 5U}) {
                if ((pipeline == 1) != (chunks == 1)) continue;
                PipelineShape shape{pipeline, chunks, pipeline * rounds};
                shape.pairs = true;
                const Schedule& schedule =
                    schedule_of(chunks > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b);
                const auto stages = all_stages(schedule, shape);
                EXPECT_EQ(verify_schedule(stages, shape), std::vector<std::string>{});
                for (const std::vector<Slot>& slots : stages)
                    for (std::size_t i = 0; i < slots.size(); ++i) {
                        if (!slots[i].pairs) continue;
                        ASSERT_LT(i + 1, slots.size());
                        EXPECT_EQ(slots[i].work, SlotWork::forward);
                        EXPECT_EQ(slots[i + 1].work, SlotWork::backward);
                        EXPECT_FALSE(slots[i].exchange) << "the exchange follows the pair";
                    }
            }
}

TEST(LayerPairs, AreRefusedBesideWhatTheyAreNotKnownWith) {
    const Plan sound = paired(moe_plan(1, 1, 4, 4));
    EXPECT_EQ(refused_at(sound), "accepted");
    const auto refused = [&](auto change) {
        Plan plan = sound;
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(refused([](Plan& p) { p.strategy.recompute = Recompute::full; }), "/strategy/recompute");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.sharding = Sharding::zero3; }), "/strategy/sharding");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.dispatcher = Dispatcher::allgather; }),
              "/strategy/moe_token_dispatcher_type");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.expert = 1; }), "/strategy/expert");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.cpu_offloading_num_layers = 1; }),
              "/strategy/cpu_offloading_num_layers");
    EXPECT_EQ(refused_at(paired(moe_plan(1, 2, 4, 4))), "/strategy/schedule") << "1F1B over stages";
    EXPECT_EQ(refused_at(paired(tiny_plan(1, 1, 2))), "/strategy/overlap_moe_expert_parallel_comm") << "no experts";
}

/// Its exchanges would run again while those of the other micro-batch are under way.
TEST(LayerPairs, ExpertsDoNotRunAgain) {
    Plan plan = moe_plan(1, 1, 2, 2);
    plan.strategy.overlap_expert_exchanges = true;
    plan.strategy.recompute = Recompute::selective;
    plan.strategy.recompute_modules = "layernorm,moe";
    EXPECT_EQ(refused_at(plan), "/strategy/recompute_modules");
    plan.strategy.recompute_modules = "layernorm,moe_act";
    EXPECT_EQ(refused_at(plan), "accepted");
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
}

}  // namespace
}  // namespace orrery::strategies
