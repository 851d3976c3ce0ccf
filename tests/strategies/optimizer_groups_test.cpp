// Group-wise apply: the same update, with copies of one group of gradients at a time.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan grouped(std::uint32_t groups, Sharding sharding = Sharding::none) {
    Plan plan = tiny_plan(1, 1, 2);
    plan.strategy.sharding = sharding;
    plan.training.precision.grad_reduce = kernels::Dtype::bf16;
    plan.training.apply_groups = groups;
    return plan;
}

/// Numbers that kernels of the optimizer work on, by name.
std::map<std::string, std::uint64_t> worked_on(const Plan& plan) {
    std::map<std::string, std::uint64_t> sums;
    const StepProgram step = build(plan);
    for (const Op& op : step.programs.front().ops)
        if (const auto* compute = std::get_if<Compute>(&op.what);
            compute != nullptr && op.label.phase == Phase::optimizer)
            sums[step.names[op.label.name]] += std::get<kernels::Pointwise>(step.kernels[compute->kernel]).cols;
    return sums;
}

TEST(ApplyGroups, UpdateEveryParameterOnce) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero3})
        for (const std::uint32_t groups : {2U, 7U}) {
            const Plan plan = grouped(groups, sharding);
            validate(plan);
            EXPECT_TRUE(verify(build(plan)).empty());
            EXPECT_EQ(worked_on(plan), worked_on(grouped(1, sharding)));
        }
}

/// Of the largest buffer that lives for the optimizer alone, the part of a group.
TEST(ApplyGroups, CopyAGroupsGradientsAtATime) {
    const auto copies = [](const Plan& plan) {
        std::uint64_t most = 0;
        const StepProgram step = build(plan);
        const Program& program = step.programs.front();
        for (const Op& op : program.ops)
            if (step.names[op.label.name] == "gradients to fp32")
                for (const BufferId id : program.writes(op)) most = std::max(most, program.buffers[id].bytes);
        return most;
    };
    const std::uint64_t all = copies(grouped(1));
    EXPECT_GT(all, 0U);
    EXPECT_NEAR(static_cast<double>(copies(grouped(4))), static_cast<double>(all) / 4, 4);
    EXPECT_LE(memory(build(grouped(4)), 0).peak, memory(build(grouped(1)), 0).peak);
}

TEST(ApplyGroups, SayWhereTheyDoNotGo) {
    constexpr const char* key = "/training/num_apply_group";
    const auto refused = [&](auto change) {
        Plan plan = grouped(2);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(refused([](Plan&) {}), "accepted");
    EXPECT_EQ(refused([](Plan& p) { p.training.precision.grad_reduce = kernels::Dtype::fp32; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.fused_optimizer = false; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.software = hardware::Software::orrery; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.strategy.optimizer_cpu_offload = true; }), key);
    EXPECT_EQ(refused([](Plan& p) {
                  p.strategy.sharding = Sharding::zero3;
                  p.strategy.param_device = OffloadDevice::cpu;
              }),
              key);
}

}  // namespace
}  // namespace orrery::strategies
