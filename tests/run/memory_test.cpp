// What ranks hold is what the program's buffers say, under strategies that keep some of it longer or shorter.
#include "strategies/memory.hpp"

#include <gtest/gtest.h>

#include "strategies/build.hpp"
#include "tests/run/ranks.hpp"

namespace orrery::run {
namespace {

using strategies::Plan;
using strategies::ScheduleKind;

/// Tensors of many times the 256 bytes that the arena rounds to.
Plan wide_plan(std::uint32_t layers, std::uint32_t global_batch) {
    Plan plan = small_plan(layers, global_batch);
    plan.training.seq = plan.model.max_positions = 64;
    plan.model.hidden = 128;
    plan.model.head_dim = 64;
    plan.model.ffn = 512;
    return plan;
}

/// Bytes of a rank of each stage.
struct Stages {
    std::vector<double> held, predicted;
};

Stages stages_of(const Plan& plan) {
    const strategies::StepProgram program = program_of(plan);
    const Trained trained = run_program(plan, program, {}, 1);
    Stages stages;
    for (std::uint32_t rank = 0; rank < plan.ranks(); ++rank) {
        if (program.mesh.coordinate(rank, strategies::Axis::pipeline) != stages.held.size()) continue;
        stages.held.push_back(static_cast<double>(trained.memory[rank].total()));
        stages.predicted.push_back(static_cast<double>(strategies::memory(program, program.role[rank]).peak));
    }
    return stages;
}

/// Weight gradients that are put off keep what they need.
TEST(HeldMemory, OfAZeroBubbleIsAsPredicted) {
    Plan plan = wide_plan(4, 8);
    plan.strategy.pipeline = 4;
    const Stages whole = stages_of(plan);
    plan.strategy.schedule = ScheduleKind::zb_h1;
    const Stages split = stages_of(plan);
    for (std::size_t s = 0; s < split.held.size(); ++s) {
        SCOPED_TRACE(s);
        EXPECT_NEAR(whole.held[s] / whole.predicted[s], 1, 0.03);
        EXPECT_NEAR(split.held[s] / split.predicted[s], 1, 0.06);  // gradients of outputs are there one by one
        EXPECT_NEAR((split.held[s] - whole.held[s]) / split.predicted[s],
                    (split.predicted[s] - whole.predicted[s]) / split.predicted[s], 0.06);
    }
    EXPECT_GT(split.held.back(), 1.5 * whole.held.back());
}

/// What modules bring back before the gradient of an input stays for those of weights, and is not there before.
TEST(HeldMemory, OfAZeroBubbleWhoseModulesRunAgainIsAsPredicted) {
    Plan plan = wide_plan(4, 8);
    plan.strategy.pipeline = 4;
    plan.strategy.schedule = ScheduleKind::zb_h1;
    const Stages all = stages_of(plan);
    plan.strategy.recompute = strategies::Recompute::selective;
    plan.strategy.recompute_modules = "layernorm,mlp";
    const Stages again = stages_of(plan);
    for (std::size_t s = 0; s < again.held.size(); ++s)  // what comes back is there one by one, too
        EXPECT_NEAR((again.predicted[s] - again.held[s]) / all.predicted[s], 0, 0.07) << s;
    EXPECT_LT(again.held.front(), 0.9 * all.held.front());
}

/// Shares, and beside them what is gathered for two layers and formed by one.
TEST(HeldMemory, OfSharesIsAsPredicted) {
    using strategies::Sharding;
    const auto peak = [](Sharding sharding) {
        Plan plan = wide_plan(8, 8);
        plan.model.hidden = 64;
        plan.model.head_dim = 32;
        plan.strategy.data = 4;
        plan.strategy.sharding = sharding;
        plan.strategy.overlap_grad_reduce = true;
        plan.strategy.bucket_bytes = 1;  // a bucket for each layer
        const Stages stages = stages_of(plan);
        EXPECT_NEAR(stages.held[0] / stages.predicted[0], 1, 0.05) << strategies::row_of(sharding).name;
        return stages.held[0];
    };
    const double states = peak(Sharding::zero1), gradients = peak(Sharding::zero2), weights = peak(Sharding::zero3);
    EXPECT_LT(gradients, 0.95 * states);
    EXPECT_LT(weights, 0.95 * gradients);
}

TEST(HeldMemory, OfContextRanksIsAsPredicted) {
    Plan plan = wide_plan(4, 4);
    plan.strategy.context = 2;
    plan.strategy.context_exchange = strategies::ContextExchange::a2a;
    const Stages stages = stages_of(plan);
    EXPECT_NEAR(stages.held[0] / stages.predicted[0], 1, 0.05);
}

}  // namespace
}  // namespace orrery::run
