// Every combination of schedule and passes gives a sound program.
#include "strategies/build.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using Shape = std::tuple<ScheduleKind, std::uint32_t, std::uint32_t>;  // schedule, stages, chunks

std::string shape_name(const testing::TestParamInfo<Shape>& info) {
    const auto& [schedule, pipeline, chunks] = info.param;
    std::string name(schedule_of(schedule).name);
    std::ranges::replace(name, '-', '_');
    return name + '_' + std::to_string(pipeline) + "x" + std::to_string(chunks);
}

constexpr std::uint32_t flag_combinations = 1 << 7;

/// The passes that the bits switch on; false where the plan would be illegal.
bool set_flags(Plan& plan, std::uint32_t bits) {
    const auto bit = [bits](unsigned i) { return ((bits >> i) & 1U) != 0; };
    Strategy& s = plan.strategy;
    s.sharding = bit(0) ? Sharding::zero1 : Sharding::none;
    s.overlap_grad_reduce = bit(1);
    s.overlap_param_gather = bit(2);
    s.sequence_parallel = bit(3);
    s.scatter_gather = bit(4);
    s.overlap_p2p = bit(5);
    s.async_tensor_allreduce = bit(6);
    // Under sequence parallelism boundary tensors are in parts anyway.
    s.tensor_comm_overlap =
        bit(3) && !bit(4) && bit(6) && s.tensor > 1 && schedule_of(s.schedule).backwards == Backwards::whole;
    if (s.overlap_param_gather && !(bit(0) && bit(1))) return false;
    return !s.overlap_p2p || s.virtual_pipeline > 1;
}

class EveryPlan : public testing::TestWithParam<Shape> {
protected:
    static void for_each_plan(const std::function<void(const Plan&)>& check) {
        const auto& [schedule, pipeline, chunks] = GetParam();
        for (const std::uint32_t tensor : {1U, 2U})
            for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
                for (std::uint32_t bits = 0; bits < flag_combinations; ++bits) {
                    Plan plan = tiny_plan(tensor, pipeline, 2);
                    plan.strategy.schedule = schedule;
                    plan.strategy.virtual_pipeline = chunks;
                    plan.strategy.recompute = recompute;
                    plan.strategy.bucket_bytes = 200'000;
                    plan.model.layers = std::max(plan.model.layers, pipeline * chunks);
                    if (!set_flags(plan, bits)) continue;
                    if (schedule_of(schedule).asynchronous) {
                        plan.model.tied_embeddings = false;
                        plan.window_steps = 3;
                        if (plan.strategy.sharding != Sharding::none) continue;
                    }
                    if (recompute == Recompute::full && schedule_of(schedule).splits_backward()) continue;
                    SCOPED_TRACE(testing::Message() << "tensor " << tensor << ", recompute "
                                                    << static_cast<int>(recompute) << ", flags " << bits);
                    validate(plan);
                    check(plan);
                }
    }
};

INSTANTIATE_TEST_SUITE_P(Shapes, EveryPlan,
                         testing::Values(Shape{ScheduleKind::gpipe, 1, 1}, Shape{ScheduleKind::gpipe, 4, 1},
                                         Shape{ScheduleKind::one_f_one_b, 1, 1}, Shape{ScheduleKind::one_f_one_b, 2, 1},
                                         Shape{ScheduleKind::one_f_one_b, 4, 1}, Shape{ScheduleKind::interleaved, 2, 2},
                                         Shape{ScheduleKind::interleaved, 4, 1}, Shape{ScheduleKind::zb_h1, 1, 1},
                                         Shape{ScheduleKind::zb_h1, 4, 1}, Shape{ScheduleKind::zb_h2, 2, 1},
                                         Shape{ScheduleKind::zb_v, 2, 2}, Shape{ScheduleKind::zb_v, 4, 2},
                                         Shape{ScheduleKind::v_half, 3, 2}, Shape{ScheduleKind::v_min, 4, 2},
                                         Shape{ScheduleKind::chimera, 2, 1}, Shape{ScheduleKind::chimera, 4, 1},
                                         Shape{ScheduleKind::dual_pipe, 2, 1}, Shape{ScheduleKind::dual_pipe_v, 2, 2},
                                         Shape{ScheduleKind::pipedream, 1, 1}, Shape{ScheduleKind::pipedream, 4, 1},
                                         Shape{ScheduleKind::pipedream_vertical_sync, 4, 1},
                                         Shape{ScheduleKind::pipedream_2bw, 2, 1}),
                         shape_name);

using Problems = std::vector<std::string>;

TEST_P(EveryPlan, BuildsAProgramThatVerifies) {
    for_each_plan([](const Plan& plan) { EXPECT_EQ(verify(build(plan)), Problems{}); });
}

TEST_P(EveryPlan, UnrollsToTheOperationsItStandsFor) {
    for_each_plan([](const Plan& plan) {
        const StepProgram step = build(plan), flat = unrolled(step);
        EXPECT_EQ(verify(flat), Problems{});
        EXPECT_TRUE(flat.blocks.empty());
        for (std::uint32_t role = 0; role < step.programs.size(); ++role) {
            EXPECT_EQ(flat.programs[role].ops.size(), unrolled_ops(step, role));
            EXPECT_EQ(unrolled_ops(flat, role), unrolled_ops(step, role));
        }
    });
}

TEST_P(EveryPlan, BuildsTheSameTwice) {
    for_each_plan([](const Plan& plan) {
        const StepProgram one = build(plan), two = build(plan);
        for (std::uint32_t role = 0; role < one.programs.size(); ++role)
            EXPECT_EQ(to_text(one, role), to_text(two, role));
    });
}

TEST(Build, OtherFamiliesVerifyToo) {
    for (const models::ModelSpec& model : {tiny_llama(), tiny_bert()})
        for (const bool fused : {false, true})
            for (const bool sequence_parallel : {false, true}) {
                Plan plan = tiny_plan(2, 2, 2);
                plan.model = model;
                plan.training.fused_attention = fused;
                plan.strategy.sequence_parallel = sequence_parallel;
                validate(plan);
                EXPECT_EQ(verify(build(plan)), Problems{}) << model.name;
            }
}

TEST(Build, ARoleForEachStage) {
    const StepProgram step = build(tiny_plan(2, 4, 3));
    ASSERT_EQ(step.role.size(), 24U);
    for (std::uint32_t rank = 0; rank < 24; ++rank) EXPECT_EQ(step.role[rank], rank / 6);
}

/// Forward and backward of every layer for every micro-batch, and nothing else, is called.
TEST(Build, CallsEveryLayerOnceForEachMicroBatch) {
    const Plan plan = tiny_plan(1, 2, 1);
    const StepProgram step = build(plan);
    std::map<std::pair<std::int32_t, std::int32_t>, int> forward, backward;
    for (const Program& program : step.programs)
        for (const Op& op : program.ops)
            if (std::holds_alternative<Call>(op.what))
                ++(op.label.phase == Phase::forward ? forward : backward)[{op.label.layer, op.label.micro_batch}];
    EXPECT_EQ(forward.size(), (plan.model.layers + 2) * plan.micro_batches());  // embedding and head
    EXPECT_EQ(forward, backward);
    for (const auto& [key, count] : forward) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace orrery::strategies
