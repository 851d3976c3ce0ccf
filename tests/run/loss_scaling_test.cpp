// fp16: its loss is scaled, and a step whose gradients are not all finite changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "run/loss_scaler.hpp"
#include "tests/run/ranks.hpp"

namespace orrery::run {
namespace {

using strategies::LossScaling;

strategies::Plan in_fp16(const LossScaling& scaling) {
    strategies::Plan plan = small_plan(2, 4);
    plan.training.precision = {kernels::Dtype::fp16, kernels::Dtype::fp16};
    plan.training.loss_scaling = scaling;
    return plan;
}

RunSettings gentle() {
    RunSettings settings;
    settings.adam.rate = 3e-3;
    return settings;
}

std::size_t skipped(const Trained& trained) {
    for (const std::vector<bool>& of_rank : trained.skipped) EXPECT_EQ(of_rank, trained.skipped.front());
    return static_cast<std::size_t>(std::ranges::count(trained.skipped.front(), true));
}

std::size_t zeros(const Trained& trained) {
    std::size_t count = 0;
    for (const auto& [name, elements] : trained.gradients)
        for (const auto& [element, gradient] : elements) count += gradient == 0 ? 1 : 0;
    return count;
}

/// Megatron-LM's tests/unit_tests and core/optimizer/grad_scaler.py: worked out by hand for a window of three.
TEST(LossScaler, FallsAndRisesAsMegatrons) {
    LossScaler scaler({.initial = 16, .least = 2, .window = 3, .hysteresis = 2});
    const auto behind = [&](bool finite) {
        scaler.update(finite);
        return scaler.scale();
    };
    EXPECT_EQ(scaler.scale(), 16);
    EXPECT_EQ(behind(false), 16) << "the first is forgiven";
    EXPECT_EQ(behind(false), 8);
    EXPECT_EQ(behind(true), 8);
    EXPECT_EQ(behind(false), 4) << "nothing was won since";
    EXPECT_EQ(behind(true), 4);
    EXPECT_EQ(behind(true), 4);
    EXPECT_EQ(behind(true), 8);
    EXPECT_EQ(behind(false), 8) << "forgiven again";
    for (const double scale : {4, 2, 2, 2}) EXPECT_EQ(behind(false), scale) << "and no further than the least";
    EXPECT_EQ(scaler.skipped(), 8U);
}

TEST(LossScaler, StaysWhereItIsConstant) {
    LossScaler scaler({.constant = 128, .window = 1});
    for (const bool finite : {true, false, true, false}) scaler.update(finite);
    EXPECT_EQ(scaler.scale(), 128);
    EXPECT_EQ(scaler.skipped(), 2U);
}

TEST(LossScaling, StepsThatOverflowChangeNothing) {
    const LossScaling far_too_large{.initial = 0x1p48};
    const Trained one = train(in_fp16(far_too_large), gentle(), 1), four = train(in_fp16(far_too_large), gentle(), 4);
    EXPECT_EQ(skipped(one), 1U);
    EXPECT_EQ(skipped(four), 4U);
    EXPECT_EQ(one.masters, four.masters);
    EXPECT_EQ(one.weights, four.weights);
    const Trained moved = train(in_fp16({.initial = 1024}), gentle(), 1);
    EXPECT_EQ(skipped(moved), 0U);
    EXPECT_NE(one.masters, moved.masters);
}

/// The scale falls step by step until gradients are finite; Adam's corrections of its first moments count from there.
TEST(LossScaling, FindsItsPlaceAndTrains) {
    for (const auto software : {hardware::Software::megatron_lm, hardware::Software::orrery})
        for (const auto sums : {kernels::Dtype::fp16, kernels::Dtype::fp32}) {
            strategies::Plan plan = in_fp16({.initial = 0x1p32});
            plan.training.software = software;
            plan.training.precision.grad_reduce = sums;
            const Trained found = train(plan, gentle(), 60);
            const std::size_t first = skipped(found);
            ASSERT_GT(first, 5U);
            ASSERT_LT(first, 40U);
            EXPECT_EQ(found.scales.back(), std::ldexp(1.0, 33 - static_cast<int>(first)));
            EXPECT_LT(found.losses.back(), found.losses.front() - 0.3);
        }
}

/// Of gradients below 2^-25 fp16 knows nothing.
TEST(LossScaling, KeepsSmallGradients) {
    const Trained plain = train(in_fp16({.constant = 0x1p-8}), gentle(), 1);
    const Trained scaled = train(in_fp16({.constant = 0x1p12}), gentle(), 1);
    EXPECT_EQ(skipped(plain) + skipped(scaled), 0U);
    EXPECT_GT(zeros(plain), zeros(scaled) + 100);
}

/// Whichever of them overflows: ranks of every axis skip the same steps, and no others than one rank alone would.
TEST(LossScaling, AllRanksAgree) {
    std::size_t overflowed = 0;
    for (int exponent = 8; exponent <= 26; exponent += 2)
        for (const int mesh : {0, 1, 2, 3, 4}) {
            SCOPED_TRACE(exponent * 10 + mesh);
            strategies::Plan plan = in_fp16({.constant = std::ldexp(1.0, exponent)});
            plan.training.precision.grad_reduce = kernels::Dtype::fp32;
            plan.strategy.tensor = mesh == 1 ? 2 : 1;
            plan.strategy.pipeline = mesh == 2 ? 2 : 1;
            plan.strategy.data = mesh >= 3 ? 2 : 1;
            if (mesh == 4) plan.strategy.sharding = strategies::Sharding::zero1;
            overflowed += skipped(train(plan, gentle(), 1));
        }
    EXPECT_GT(overflowed, 10U);
    EXPECT_LT(overflowed, 45U);
}

}  // namespace
}  // namespace orrery::run
