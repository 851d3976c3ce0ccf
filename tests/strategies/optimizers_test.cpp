#include "strategies/optimizers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "kernels/kernel.hpp"
#include "strategies/build.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Dtype;

Plan trained_by(Optimizer optimizer, bool fused = true) {
    Plan plan = tiny_plan(1, 1, 1);
    plan.training.optimizer = optimizer;
    plan.training.fused_optimizer = fused;
    plan.training.grad_clip = 0;
    return plan;
}

struct Moved {
    double bytes = 0;       ///< beside what makes gradients fp32
    double parameters = 0;  ///< of which this makes them so
};

/// By the first stage's optimizer.
Moved moved(const StepProgram& step) {
    Moved sum;
    for (const Op& op : step.programs[0].ops) {
        const auto* compute = std::get_if<Compute>(&op.what);
        if (compute == nullptr || op.label.phase != Phase::optimizer) continue;
        const auto& kernel = std::get<kernels::Pointwise>(step.kernels[compute->kernel]);
        const std::string& name = step.names[op.label.name];
        if (name == "gradient scaling" || name == "gradients to fp32")
            sum.parameters = static_cast<double>(kernel.rows * kernel.cols);
        else
            sum.bytes += kernels::bytes(kernel);
    }
    return sum;
}

double bytes_a_parameter(const Plan& plan) {
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    return moved(step).bytes / moved(step).parameters;
}

std::ptrdiff_t operations(const StepProgram& step, std::string_view name) {
    return std::ranges::count(step.programs[0].ops, name,
                              [&](const Op& op) -> std::string_view { return step.names[op.label.name]; });
}

/// Whatever kernels there are before it: nothing that is reduced is left unread.
TEST(Optimizers, WaitForReducedGradients) {
    const auto unread = [](const Plan& plan) {
        const StepProgram step = build(plan);
        const Program& program = step.programs.front();
        std::vector<bool> read(program.buffers.size(), false);
        for (const Op& op : program.ops)
            for (const BufferId id : program.reads(op)) read[id] = true;
        std::size_t count = 0, reductions = 0;
        for (const Op& op : program.ops) {
            if (!among_data_ranks(op.lane) || op.label.phase != Phase::gradient) continue;
            if (!std::holds_alternative<Collective>(op.what)) continue;
            ++reductions;
            for (const BufferId id : program.writes(op)) count += read[id] ? 0 : 1;
        }
        EXPECT_GT(reductions, 0U);
        return count;
    };
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3})
        for (const Optimizer optimizer : {Optimizer::adam, Optimizer::sgd, Optimizer::lamb})
            for (const bool fused : {true, false})
                for (const double clip : {0.0, 1.0})
                    for (const bool masters : {true, false})
                        for (const Dtype reduced : {Dtype::bf16, Dtype::fp32}) {
                            Plan plan = tiny_plan(1, 1, 4);
                            plan.strategy.sharding = sharding;
                            plan.training.optimizer = optimizer;
                            plan.training.fused_optimizer = fused;
                            plan.training.grad_clip = clip;
                            plan.training.master_weights = masters;
                            plan.training.precision.grad_reduce = reduced;
                            plan.training.log_num_zeros_in_grad = !fused;
                            EXPECT_EQ(unread(plan), 0U) << static_cast<int>(sharding) << static_cast<int>(optimizer)
                                                        << fused << clip << masters << static_cast<int>(reduced);
                        }
}

/// Reads and writes of fp32 numbers, and 6 bytes to copy masters to 16 bits; the fused Adam writes those itself.
TEST(Optimizers, MoveWhatTheirKernelsReadAndWrite) {
    const auto streams = [](Optimizer optimizer, bool fused) {
        Plan plan = trained_by(optimizer, fused);
        plan.training.precision = {Dtype::bf16, Dtype::fp32};
        return (bytes_a_parameter(plan) - 6) / 4;
    };
    EXPECT_NEAR(streams(Optimizer::adam, true), 7 - 1, 0.01);  // 7 streams and 2 bytes
    EXPECT_NEAR(streams(Optimizer::sgd, true), 3, 0.01);
    EXPECT_NEAR(streams(Optimizer::momentum, true), 5, 0.01);
    EXPECT_NEAR(streams(Optimizer::lion, true), 5, 0.01);
    EXPECT_NEAR(streams(Optimizer::lamb, true), 12, 0.01);
    EXPECT_NEAR(streams(Optimizer::adam, false), 20, 0.01);
    EXPECT_NEAR(streams(Optimizer::momentum, false), 8, 0.01);
    EXPECT_NEAR(streams(Optimizer::lion, false), 19, 0.01);
    EXPECT_NEAR(streams(Optimizer::lamb, false), 12, 0.01);
    EXPECT_NEAR(streams(Optimizer::adam8bit, false), 4, 0.01);
    EXPECT_NEAR(streams(Optimizer::adafactor, false), 19, 0.01);
}

/// A compiler joins what lies between Adafactor's sums; PyTorch has no such kernels.
TEST(Optimizers, AdafactorIsJoinedWhereACompilerIs) {
    Plan plan = trained_by(Optimizer::adafactor, true);
    plan.training.software = hardware::Software::tensorflow;
    plan.training.precision = {Dtype::bf16, Dtype::fp32};
    EXPECT_NEAR((bytes_a_parameter(plan) - 6) / 4, 7, 0.01);
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.training.software = hardware::Software::pytorch;
    EXPECT_EQ(refused_at(plan), "/training/fused_optimizer");
}

TEST(Optimizers, KeepTheirMoments) {
    const auto kept = [](Optimizer optimizer, Dtype compute) {
        return state_bytes({.precision = {compute, Dtype::fp32}, .optimizer = optimizer}).optimizer;
    };
    using enum Optimizer;
    for (const auto& [optimizer, moments] :
         {std::pair{adam, 8U}, {lamb, 8U}, {momentum, 4U}, {lion, 4U}, {adam8bit, 2U}, {sgd, 0U}, {adafactor, 0U}}) {
        EXPECT_EQ(kept(optimizer, Dtype::fp32), moments);
        EXPECT_EQ(kept(optimizer, Dtype::bf16), moments + 4) << "and the masters";
    }
}

/// torch.optim over bf16 parameters: its states are like them (adamw.py), and nothing is copied to fp32 or back.
TEST(Optimizers, WithoutMastersWorkInTheWeightsFormat) {
    const auto state = [](Optimizer optimizer, Dtype compute) {
        return state_bytes({.precision = {compute, Dtype::bf16}, .master_weights = false, .optimizer = optimizer});
    };
    const StateBytes adam = state(Optimizer::adam, Dtype::bf16);
    EXPECT_EQ(adam.weight + adam.gradient + adam.optimizer + adam.gradient_copy, 8U);
    EXPECT_EQ(state(Optimizer::sgd, Dtype::bf16).optimizer, 0U);
    EXPECT_EQ(state(Optimizer::adam8bit, Dtype::fp16).optimizer, 2U) << "whose moments are bytes anyway";
    for (const auto& [optimizer, fused, bytes] : {std::tuple{Optimizer::adam, true, 7 * 2.0},
                                                  {Optimizer::adam, false, 20 * 2.0},
                                                  {Optimizer::lion, true, 5 * 2.0},
                                                  {Optimizer::adam8bit, false, 3 * 2 + 4.0}}) {
        Plan plan = trained_by(optimizer, fused);
        plan.training.precision = {Dtype::bf16, Dtype::bf16};
        const Moved with = moved(build(plan));
        plan.training.master_weights = false;
        const StepProgram pure = build(plan);
        EXPECT_EQ(verify(pure), std::vector<std::string>{});
        EXPECT_EQ(operations(pure, "gradients to fp32") + operations(pure, "weights to 16 bits"), 0);
        EXPECT_NEAR(moved(pure).bytes / with.parameters, bytes, 0.01);
        EXPECT_LT(moved(pure).bytes, with.bytes);
    }
}

TEST(Optimizers, MastersAreMissedWhereTheyAreNeeded) {
    const auto refused = [](const auto& change) {
        Plan plan = tiny_plan(1, 1, 2);
        plan.training.precision = {Dtype::bf16, Dtype::bf16};
        plan.training.master_weights = false;
        change(plan);
        return refused_at(plan);
    };
    const char* const key = "/training/master_weights";
    EXPECT_EQ(refused([](Plan&) {}), "accepted");
    EXPECT_EQ(refused([](Plan& p) { p.training.precision = {Dtype::fp32, Dtype::fp32}; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.precision.grad_reduce = Dtype::fp32; }), key);
    EXPECT_EQ(refused([](Plan& p) { p.training.optimizer = Optimizer::muon; }), key);
    EXPECT_EQ(refused([](Plan& p) {
                  p.strategy.sharding = Sharding::zero1;
                  p.strategy.optimizer_cpu_offload = true;
              }),
              key);
    EXPECT_EQ(refused([](Plan& p) { p.strategy.compression = Compression::onebit_adam; }), key);
    EXPECT_EQ(refused([](Plan& p) {
                  p.training.precision.compute = Dtype::fp8;
                  p.training.fp8_param_gather = true;
              }),
              key);
}

/// Words and positions, 12 tensors of each of four layers, the last norm's two: 52; four kernels are one dispatch.
TEST(Optimizers, ParameterByParameterCostTheHostADispatchForFourKernels) {
    Plan plan = trained_by(Optimizer::lamb, false);
    plan.training.grad_clip = 1;
    const StepProgram step = build(plan);
    EXPECT_EQ(operations(step, "lamb update"), 52 * 6 / 4);
    EXPECT_EQ(operations(step, "gradient norm"), 52 / 4 + 1) << "and the sum over ranks";
    EXPECT_EQ(operations(step, "clip"), 52 / 4);
    plan.training.fused_optimizer = true;
    const StepProgram fused = build(plan);
    EXPECT_EQ(operations(fused, "lamb update"), 1);
    EXPECT_EQ(operations(fused, "clip"), 0) << "inside the update";
}

TEST(Optimizers, LambSumsNormsWhereRanksHoldPartsOfParameters) {
    const auto summed = [](std::uint32_t tensor, Sharding sharding) {
        Plan plan = tiny_plan(tensor, 1, 2);
        plan.training.optimizer = Optimizer::lamb;
        plan.strategy.sharding = sharding;
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        return operations(step, "norms of parameters");
    };
    EXPECT_EQ(summed(1, Sharding::none), 0);
    EXPECT_EQ(summed(2, Sharding::none), 1);
    EXPECT_EQ(summed(1, Sharding::zero1), 1);
}

TEST(Optimizers, WhatDoesNotGoTogetherIsRefused) {
    const auto refused = [](const auto& change) {
        Plan plan = tiny_plan(1, 1, 2);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(refused([](Plan& p) { p.training.optimizer = Optimizer::lamb; }), "accepted");
    EXPECT_EQ(refused([](Plan& p) { p.training.optimizer = Optimizer::adafactor; }), "/training/fused_optimizer");
    EXPECT_EQ(refused([](Plan& p) {
                  p.training.optimizer = Optimizer::lion;
                  p.strategy.optimizer_cpu_offload = true;
              }),
              "/training/optimizer");
    EXPECT_EQ(refused([](Plan& p) {
                  p.training.fused_optimizer = false;
                  p.strategy.compression = Compression::onebit_adam;
              }),
              "/training/fused_optimizer");
}

}  // namespace
}  // namespace orrery::strategies
