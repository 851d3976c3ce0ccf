// Offloaded activations leave the device and lie in host memory, as predicted.
#include <gtest/gtest.h>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/run/ranks.hpp"

namespace orrery::run {
namespace {

/// Tensors of many times the 256 bytes that the arena rounds to.
strategies::Plan plan_of(std::uint32_t offloaded, std::uint32_t pipeline = 1) {
    strategies::Plan plan = small_plan(8, 8);
    plan.training.seq = plan.model.max_positions = 64;
    plan.model.hidden = 64;
    plan.model.head_dim = 32;
    plan.model.ffn = 256;
    plan.strategy.pipeline = pipeline;
    plan.strategy.cpu_offloading_num_layers = offloaded;
    return plan;
}

std::uint64_t predicted_host(const strategies::Plan& plan, std::uint32_t stage) {
    return strategies::memory(strategies::build(plan), stage).host;
}

TEST(Offload, TheDevicesPeakFallsAsPredicted) {
    const auto held = [](std::uint32_t layers) {
        return static_cast<double>(train(plan_of(layers), {}, 1).memory[0].total());
    };
    const auto predicted = [](std::uint32_t layers) {
        return static_cast<double>(strategies::memory(strategies::build(plan_of(layers)), 0).peak);
    };
    const double none = held(0);
    for (const std::uint32_t layers : {2U, 4U, 8U}) {
        const double now = held(layers);
        EXPECT_NEAR(now, predicted(layers), 0.03 * predicted(layers)) << layers;
        EXPECT_GT(none - now, 0.8 * (predicted(0) - predicted(layers))) << layers;
    }
}

TEST(Offload, HostMemoryHoldsWhatTheScheduleKeeps) {
    EXPECT_EQ(train(plan_of(0), {}, 1).memory[0].host, 0U);
    for (const std::uint32_t pipeline : {1U, 2U}) {
        const strategies::Plan plan = plan_of(8 / pipeline, pipeline);
        const Trained trained = train(plan, {}, 1);
        for (std::uint32_t stage = 0; stage < pipeline; ++stage) {
            const auto expected = static_cast<double>(predicted_host(plan, stage));
            EXPECT_GT(expected, 0);
            EXPECT_NEAR(static_cast<double>(trained.memory[stage].host), expected, 0.05 * expected) << stage;
        }
    }
}

}  // namespace
}  // namespace orrery::run
