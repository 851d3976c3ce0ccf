// Mixed precision: 16-bit weights are copies of fp32 masters, which keep what a copy is too coarse for.
#include <gtest/gtest.h>

#include "kernels/number_format.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/run/ranks.hpp"

namespace orrery::run {
namespace {

using kernels::Dtype;

strategies::Plan mixed(Dtype sums = Dtype::fp32) {
    strategies::Plan plan = small_plan(2, 4);
    plan.training.precision = {Dtype::bf16, sums};
    return plan;
}

RunSettings at_rate(double rate) {
    RunSettings settings;
    settings.adam.rate = rate;
    return settings;
}

double rounded(double value) { return kernels::from_bf16(kernels::to_bf16(value)); }

/// Every rank's weights are the rounded masters of whichever rank owns them. Returns how many differ from theirs.
std::size_t expect_copies(const Trained& trained) {
    std::size_t different = 0;
    for (const Values& weights : trained.weights)
        for (const auto& [name, elements] : weights)
            for (const auto& [element, weight] : elements) {
                const double master = trained.masters.at(name).at(element);
                EXPECT_EQ(weight, rounded(master)) << name << " element " << element;
                different += weight != master ? 1 : 0;
            }
    return different;
}

TEST(Masters, AreRoundedToTheirCopiesAfterEveryStep) {
    for (const std::uint32_t data : {1U, 2U})
        for (const Dtype sums : {Dtype::fp32, Dtype::bf16})
            for (const std::uint32_t steps : {1U, 2U, 5U}) {
                strategies::Plan plan = mixed(sums);
                plan.strategy.data = data;
                plan.strategy.sharding = strategies::Sharding::zero1;
                SCOPED_TRACE(steps);
                const Trained trained = train(plan, at_rate(1e-3), steps);
                ASSERT_EQ(trained.weights.size(), data);
                EXPECT_GT(expect_copies(trained), 1000U) << "masters hold no more than their copies";
            }
}

/// Between 1/2 and 1 the numbers of bf16 are 2^-8 apart: from the 1 that a norm's weight begins with, an update below
/// half of that is lost unless a master keeps it.
TEST(Masters, KeepUpdatesThatAreBelowTheResolutionOfTheirCopies) {
    constexpr double rate = 1e-4;  // Adam's first updates are as large as its rate
    const strategies::Plan plan = mixed();
    const std::string norm = "final_norm.weight";
    const Trained once = train(plan, at_rate(rate), 1), often = train(plan, at_rate(rate), 80);
    std::size_t moved = 0;
    for (const auto& [element, weight] : once.weights[0].at(norm)) {
        EXPECT_EQ(weight, 1) << "an update of " << rate << " shows in bf16";
        EXPECT_NE(once.masters.at(norm).at(element), 1);
        EXPECT_NEAR(once.masters.at(norm).at(element), 1, 1.01 * rate);
        moved += often.weights[0].at(norm).at(element) != 1 ? 1 : 0;
    }
    EXPECT_GT(moved, 0U) << "80 updates together have left no trace";
}

/// Bytes a parameter of the program's buffers, which predictions of memory count, and of what a rank holds.
TEST(Masters, TakeTheMemoryThatThePlanPredicts) {
    for (const Dtype sums : {Dtype::fp32, Dtype::bf16})
        for (const std::uint32_t data : {1U, 2U}) {
            strategies::Plan plan = mixed(sums);
            plan.training.software = hardware::Software::orrery;
            plan.strategy.data = data;
            plan.strategy.sharding = strategies::Sharding::zero1;
            const Trained trained = train(plan, at_rate(1e-3), 1);
            const auto predicted = strategies::memory(strategies::build(plan), 0).at_peak;
            const RankMemory& held = trained.memory.front();
            const auto of = [&](strategies::Keep keep) { return predicted[static_cast<std::size_t>(keep)]; };
            EXPECT_EQ(held.weights, of(strategies::Keep::weight));
            EXPECT_EQ(held.gradients, of(strategies::Keep::gradient));
            EXPECT_EQ(held.optimizer, of(strategies::Keep::optimizer));
        }
}

}  // namespace
}  // namespace orrery::run
