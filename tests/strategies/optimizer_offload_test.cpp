// The optimizer's states in host memory: what is copied and updated there, and what the device's memory gains.
#include "strategies/optimizer_offload.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/memory.hpp"
#include "strategies/ownership.hpp"
#include "strategies/stage.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using Problems = std::vector<std::string>;

double real(std::uint64_t number) { return static_cast<double>(number); }

Plan offloading(double fraction, bool overlap, Sharding sharding = Sharding::zero1, std::uint32_t pipeline = 1) {
    Plan plan = tiny_plan(2, pipeline, 2);
    plan.strategy.sharding = sharding;
    plan.strategy.optimizer_cpu_offload = fraction > 0;
    if (fraction > 0) plan.strategy.optimizer_offload_fraction = fraction;
    plan.strategy.overlap_optimizer_copies = overlap;
    plan.strategy.bucket_bytes = 20'000;
    return plan;
}

/// What one stage's program does with parameters beside its device.
struct Moved {
    std::uint64_t out = 0, in = 0, on_host = 0, on_device = 0, updates = 0;
    explicit Moved(const StepProgram& step, std::uint32_t role = 0) {
        for (const Op& op : step.programs[role].ops) {
            if (const auto* copy = std::get_if<Copy>(&op.what)) (copy->to == Copy::To::host ? out : in) += copy->bytes;
            if (const auto* host = std::get_if<HostCompute>(&op.what)) {
                on_host += std::get<kernels::Pointwise>(step.kernels[host->kernel]).cols;
                ++updates;
            }
            if (const auto* device = std::get_if<Compute>(&op.what))
                if (const auto* adam = std::get_if<kernels::Pointwise>(&step.kernels[device->kernel]);
                    adam != nullptr && adam->kind == kernels::PointwiseKind::adam)
                    on_device += adam->cols;
        }
    }
};

std::uint64_t owned(const Plan& plan, std::uint32_t role) {
    StepProgram scratch;
    scratch.mesh = plan.mesh();
    Intern intern(scratch);
    const ModelBlocks blocks = add_model_blocks(scratch, intern, plan);
    const Ownership of = ownership(plan, ParameterClass::dense);
    return share(plan.mesh(), of, of.states, place_layers(blocks, plan, role).counts.trained);
}

TEST(OptimizerOffload, EveryParameterIsUpdatedOnceHereOrThere) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3})
        for (const double fraction : {0.3, 1.0})
            for (const bool overlap : {false, true})
                for (const bool reduces : {false, true})
                    for (const std::uint32_t pipeline : {1U, 2U}) {
                        // A distributed optimizer and tied words between stages are no matter here.
                        Plan plan = offloading(fraction, overlap, sharding, pipeline);
                        plan.strategy.overlap_grad_reduce = reduces;
                        validate(plan);
                        const StepProgram step = build(plan);
                        ASSERT_EQ(verify(step), Problems{});
                        for (std::uint32_t role = 0; role < pipeline; ++role) {
                            const Moved moved(step, role);
                            EXPECT_EQ(moved.on_host + moved.on_device, owned(plan, role));
                            EXPECT_NEAR(real(moved.on_host), fraction * real(owned(plan, role)), 100);
                            const std::uint64_t gradient = state_bytes(plan.training).gradient;
                            EXPECT_EQ(moved.out, moved.on_host * gradient);
                            EXPECT_EQ(moved.in, moved.on_host * 2) << "16-bit weights";
                            EXPECT_EQ(moved.updates > 1, overlap);
                        }
                    }
}

TEST(OptimizerOffload, MemoryMovesFromTheDeviceToTheHost) {
    for (const kernels::Dtype sums : {kernels::Dtype::bf16, kernels::Dtype::fp32})
        for (const double fraction : {0.5, 1.0}) {
            Plan plan = offloading(0, false), other = offloading(fraction, false);
            plan.training.precision.grad_reduce = other.training.precision.grad_reduce = sums;
            const StageMemory without = memory(build(plan), 0), with = memory(build(other), 0);
            const auto states = static_cast<std::size_t>(Keep::optimizer);
            EXPECT_EQ(without.host, 0U);
            EXPECT_NEAR(real(with.at_peak[states]), (1 - fraction) * real(without.at_peak[states]), 2);
            EXPECT_NEAR(real(without.peak - with.peak), fraction * real(without.at_peak[states]), 1e3);
            const std::uint32_t each = host_bytes_a_parameter(plan.training);
            EXPECT_EQ(each, sums == kernels::Dtype::fp32 ? 16U : 14U);
            EXPECT_NEAR(real(with.host), fraction * each * real(owned(plan, 0)), 100);
        }
}

/// Adam waits for the gradients of its own bucket and for the host, which has waited for all of them; weights are
/// gathered when they are back.
TEST(OptimizerOffload, AnUpdateWaitsForItsGradientsAndIsWaitedFor) {
    Plan plan = offloading(1, true);
    plan.strategy.overlap_grad_reduce = true;
    const StepProgram step = build(plan);
    const Program& program = step.programs[0];
    const Hazards hazards(program);
    const auto is = [&](std::uint32_t op, Lane lane) { return program.ops[op].lane == lane; };
    std::uint32_t updates = 0, gathers = 0;
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        const auto waits = hazards.of(i);
        if (is(i, Lane::host)) {
            ++updates;
            ASSERT_EQ(waits.size(), 1U);
            EXPECT_TRUE(is(waits.front(), Lane::offload));
        }
        if (is(i, Lane::reload)) {
            ASSERT_EQ(waits.size(), 1U);
            EXPECT_TRUE(is(waits.front(), Lane::host));
        }
        if (is(i, Lane::offload)) {
            EXPECT_TRUE(std::ranges::any_of(waits, [&](std::uint32_t other) { return is(other, Lane::data); }));
        }
        if (step.names[program.ops[i].label.name] != "gather weights") continue;
        ++gathers;
        EXPECT_EQ(std::ranges::count_if(waits, [&](std::uint32_t other) { return is(other, Lane::reload); }),
                  static_cast<std::ptrdiff_t>(updates));
    }
    EXPECT_GT(updates, 2U);
    EXPECT_EQ(gathers, 1U);
}

/// Between stages gradients of tied words are still summed behind the buckets.
TEST(OptimizerOffload, GradientsLeaveWhenNothingIsAddedAnyMore) {
    const StepProgram step = build(offloading(1, true, Sharding::none, 2));
    for (const Program& program : step.programs) {
        const Hazards hazards(program);
        bool summed = false;
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            summed = summed || step.names[program.ops[i].label.name] == "embedding gradient sum";
            EXPECT_TRUE(summed || program.ops[i].lane != Lane::offload) << program.name;
        }
        EXPECT_TRUE(summed);
    }
}

TEST(OptimizerOffload, ALostParameterIsFound) {
    StepProgram step = build(offloading(1, false));
    for (Op& op : step.programs[0].ops)
        if (op.lane == Lane::host) {
            step.kernels.emplace_back(kernels::Pointwise{kernels::PointwiseKind::adam, kernels::Dtype::bf16, 1, 7});
            op.what = HostCompute{static_cast<std::uint32_t>(step.kernels.size() - 1)};
        }
    const Problems problems = verify(step);
    EXPECT_TRUE(std::ranges::any_of(problems, [](const std::string& problem) {
        return problem.find("7 parameters are updated by the host and 0 by the device") != std::string::npos;
    })) << testing::PrintToString(problems);
}

TEST(OptimizerOffload, KeysThatMeanNothingAreRefused) {
    const auto pointer = [](auto change) {
        Plan plan = offloading(0, false);
        change(plan.strategy);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer([](Strategy&) {}), "accepted");
    EXPECT_EQ(pointer([](Strategy& s) { s.optimizer_offload_fraction = 0.5; }), "/strategy/optimizer_offload_fraction");
    EXPECT_EQ(pointer([](Strategy& s) { s.overlap_optimizer_copies = true; }),
              "/strategy/overlap_cpu_optimizer_d2h_h2d");
    EXPECT_EQ(pointer([](Strategy& s) {
                  s.optimizer_cpu_offload = true;
                  s.optimizer_offload_fraction = 1.5;
              }),
              "/strategy/optimizer_offload_fraction");
}

}  // namespace
}  // namespace orrery::strategies
