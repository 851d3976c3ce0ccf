// ZB-H1 in time: what it saves against 1F1B is what the closed forms of their bubbles differ by.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/run_step.hpp"
#include "strategies/build.hpp"
#include "strategies/schedule/schedule.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

/// 4 stages of 4 layers in one node, nothing but layers to speak of, no host.
RanStep run(const char* schedule) {
    auto scenario = small_scenario(R"({
        "model": {"num_hidden_layers": 16, "hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 128},
        "cluster": {"nodes": 1}, "strategy": {"tensor": 1, "pipeline": 4, "data": 1},
        "training": {"seq_length": 2048, "global_batch_size": 16, "cuda_graph": true}})");
    for (const strategies::Schedule& row : strategies::schedules)
        if (row.name == schedule) {
            scenario.plan.strategy.schedule = row.kind;
            scenario.plan.strategy.virtual_pipeline = std::max(1U, row.chunks / strategies::copies_of_model(row.order));
        }
    return {scenario.plan, topology::build(scenario.cluster), profiles().find(scenario.profile)};
}

/// Seconds of a stage's works for one micro-batch, from the calls of ZB-H1's second stage.
strategies::WorkSeconds seconds_of(const RanStep& ran) {
    strategies::WorkSeconds seconds;
    const strategies::Program& stage = ran.program.programs[1];
    for (std::uint32_t i = 0; i < stage.ops.size(); ++i) {
        const strategies::Label& label = stage.ops[i].label;
        if (!std::holds_alternative<strategies::Call>(stage.ops[i].what) || label.micro_batch != 0) continue;
        const std::string& name = ran.program.names[label.name];
        double& sum = name == "forward"          ? seconds.forward
                      : name == "input gradient" ? seconds.input_gradient
                                                 : seconds.weight_gradient;
        sum += ran.costs[0].of(1, i).device;
    }
    return seconds;
}

TEST(ZeroBubbleTime, SavesWhatTheClosedFormsDifferBy) {
    const RanStep zero = run("zb-h1"), plain = run("1f1b");
    const strategies::WorkSeconds seconds = seconds_of(zero);
    ASSERT_GT(seconds.forward, 0);
    ASSERT_GT(seconds.input_gradient, seconds.weight_gradient) << "attention has no weights";
    ASSERT_GT(seconds.weight_gradient, 0);
    const strategies::PipelineShape shape{4, 1, 16};
    const double saved = strategies::flush_bubble(shape, seconds) - strategies::zb_h1_bubble(shape, seconds);
    EXPECT_NEAR(plain.seconds() - zero.seconds(), saved, 0.05 * saved);
    EXPECT_NEAR(zero.seconds(), 16 * seconds.sum() + strategies::zb_h1_bubble(shape, seconds), 0.05 * zero.seconds());
}

/// In two directions, and without a flush, stages wait less than in 1F1B; what is not waited for is the same work.
TEST(ZeroBubbleTime, TwoWaysWaitLess) {
    const RanStep halves = run("zb-h1");
    const double plain = run("1f1b").seconds(), work = plain / (16 + 3) * 16;
    for (const char* schedule : {"dualpipe", "dualpipe-v"}) {
        EXPECT_LT(run(schedule).seconds(), plain) << schedule;
        EXPECT_GT(run(schedule).seconds(), work) << schedule;
    }
    // Its backwards take longer than its forwards, of which four units make much; gradients of both copies are summed,
    // and the weights of two stages updated.
    const strategies::WorkSeconds seconds = seconds_of(halves);
    const strategies::PipelineShape shape{4, 2, 16, strategies::ChunkOrder::opposes};
    const double ideal = 16 * seconds.sum() + strategies::chimera_bubble(shape, seconds);
    EXPECT_GT(run("chimera").seconds(), ideal);
    EXPECT_LT(run("chimera").seconds(), ideal + 0.1 * plain);
    const RanStep window = run("zb-h2");
    EXPECT_LT(window.seconds() / window.program.steps, halves.seconds());
}

/// Two chunks in a V wait less than 1F1B and no less than equal works would, with messages that cost little.
TEST(ZeroBubbleTime, AVWaitsLess) {
    const RanStep plain = run("1f1b"), v = run("zb-v");
    const double work = plain.seconds() / (16 + 3) * 16;
    EXPECT_LT(v.seconds(), plain.seconds() - 0.4 * (plain.seconds() - work));
    EXPECT_GT(v.seconds(), work);
}

}  // namespace
}  // namespace orrery::sim
