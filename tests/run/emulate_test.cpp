// Kernels that sleep: their times are kept, and communication goes on as it does with kernels that compute.
#include "run/emulate.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "run/executor.hpp"
#include "run/plan_file.hpp"
#include "strategies/build.hpp"
#include "tests/run/ranks.hpp"

namespace orrery::run {
namespace {

strategies::Plan small() { return small_plan(4, 8); }

constexpr double each = 2e-4;  // seconds of a kernel

RunSettings emulated(const strategies::StepProgram& step) {
    RunSettings settings;
    settings.kernel_seconds.assign(step.kernels.size(), each);
    return settings;
}

TEST(Emulate, KernelsTakeAtLeastTheirTime) {
    const strategies::Plan plan = small();
    const strategies::StepProgram step = strategies::build(plan);
    const RunSettings settings = emulated(step);
    const auto device = kernels::open_device("cpu");
    Executor executor(*device, nullptr, plan, step, settings);
    const StepResult result = executor.step();
    EXPECT_TRUE(result.losses.empty()) << "nothing was computed";
    const strategies::StepProgram flat = strategies::unrolled(step);
    std::size_t kernels = 0;
    for (const strategies::Op& op : flat.programs[0].ops)
        kernels += std::holds_alternative<strategies::Compute>(op.what);
    EXPECT_GT(kernels, 50U);
    EXPECT_GE(result.seconds, each * static_cast<double>(kernels)) << "all lie on one lane, one behind the other";
}

/// Every mesh of it communicates as the real one does, or a rank would wait for ever.
TEST(Emulate, RanksCommunicate) {
    for (const auto& [pipeline, data] : {std::pair(1U, 4U), std::pair(4U, 1U), std::pair(2U, 2U)}) {
        strategies::Plan plan = small();
        plan.strategy.pipeline = pipeline;
        plan.strategy.data = data;
        plan.strategy.overlap_grad_reduce = data > 1;
        const Trained trained = train(plan, emulated(strategies::build(plan)), 2);
        EXPECT_TRUE(trained.losses.empty()) << pipeline << " x " << data;
    }
}

TEST(Emulate, RefusesTimesOfAnotherProgram) {
    const strategies::Plan plan = small();
    const strategies::StepProgram step = strategies::build(plan);
    RunSettings settings = emulated(step);
    settings.kernel_seconds.pop_back();
    const auto device = kernels::open_device("cpu");
    EXPECT_THROW(Executor(*device, nullptr, plan, step, settings), Error);
}

TEST(Emulate, TimesTravelWithThePlan) {
    RunPlan plan{"small", small(), {}};
    EXPECT_TRUE(plan_from_json(to_json(plan), "plan.json").settings.kernel_seconds.empty());
    plan.settings.kernel_seconds = {1e-3, 0.1 + 0.2};
    EXPECT_EQ(plan_from_json(to_json(plan), "plan.json").settings.kernel_seconds, plan.settings.kernel_seconds);
}

}  // namespace
}  // namespace orrery::run
