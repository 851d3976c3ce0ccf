// Random traffic: the fast engine against SimGrid's network, and what it must keep by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/sim/recorder.hpp"

namespace orrery::sim {
namespace {

/// Random traffic: every worker takes turns at computing (a timer) and sending (a flow). With one size and no
/// thinking time, workers stay in step; otherwise all starts and ends differ.
struct Scenario {
    std::vector<double> capacity;
    struct Worker {
        std::vector<LinkUse> uses;
        double limit = infinity;
        std::vector<double> think, bytes;  // seconds and bytes of each turn
    };
    std::vector<Worker> workers;
};

enum class Weights { one, by_flow, by_link };

Scenario random_scenario(std::uint64_t seed, bool in_step, Weights weights) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    Scenario made;
    made.capacity.resize(2 + below(10));
    for (double& capacity : made.capacity) capacity = 1e9 * (1 + below(in_step ? 3 : 100));
    made.workers.resize(1 + below(20));
    for (auto& worker : made.workers) {
        const double of_flow = weights == Weights::by_flow ? 0.25 * (1 + below(12)) : 1.0;
        for (std::uint32_t link = 0; link < made.capacity.size(); ++link)
            if (below(3) == 0)
                worker.uses.push_back({link, weights == Weights::by_link ? 0.25 * (1 + below(12)) : of_flow});
        if (worker.uses.empty()) worker.uses.push_back({0, of_flow});
        if (below(4) == 0) worker.limit = 1e8 * (1 + below(20));
        for (int turn = 0; turn < 6; ++turn) {
            worker.think.push_back(in_step ? 0.0 : 0.1 + 1e-4 * below(20'000));
            worker.bytes.push_back(in_step ? 1e9 : 1e7 * (1 + below(1000)));
        }
    }
    return made;
}

struct Outcome {
    std::vector<Seen> seen;
    std::vector<double> carried;
};

/// Tags are worker + workers x turn.
Outcome play(const Scenario& scenario, Engine& engine) {
    Recorder sink(engine);
    const std::uint64_t workers = scenario.workers.size();
    const auto think = [&](std::uint64_t tag) {
        const auto& worker = scenario.workers[tag % workers];
        if (tag / workers < worker.think.size()) engine.timer(engine.now() + worker.think[tag / workers], tag);
    };
    sink.then = [&](const Seen& event) {
        const auto& worker = scenario.workers[event.tag % workers];
        if (event.flow)
            think(event.tag + workers);
        else
            engine.flow(worker.uses, worker.bytes[event.tag / workers], worker.limit, event.tag);
    };
    for (std::uint64_t worker = 0; worker < workers; ++worker) think(worker);
    engine.run(sink);
    Outcome outcome{std::move(sink.seen), {}};
    for (std::uint32_t l = 0; l < scenario.capacity.size(); ++l) outcome.carried.push_back(engine.carried_bytes(l));
    return outcome;
}

std::vector<double> expected_carried(const Scenario& scenario) {
    std::vector<double> carried(scenario.capacity.size(), 0.0);
    for (const auto& worker : scenario.workers)
        for (const double bytes : worker.bytes)
            for (const LinkUse& use : worker.uses) carried[use.link] += use.weight * bytes;
    return carried;
}

/// Time of each flow's end, by tag.
std::vector<double> ends(const Outcome& outcome) {
    std::vector<double> at(outcome.seen.size(), std::nan(""));
    for (const Seen& event : outcome.seen)
        if (event.flow) at.at(event.tag) = event.at;
    return at;
}

/// Times are a tenth of a second and more, so that SimGrid's precision of 1e-12 s stays below the tolerance.
void expect_agreement(bool in_step, Weights weights, std::uint64_t scenarios) {
    for (std::uint64_t seed = 0; seed < scenarios; ++seed) {
        SCOPED_TRACE(seed);
        const Scenario scenario = random_scenario(seed, in_step, weights);
        const auto fluid = ends(play(scenario, *make_fluid_engine(scenario.capacity)));
        const auto cm02 = ends(play(scenario, *make_cm02_engine(scenario.capacity)));
        ASSERT_EQ(fluid.size(), cm02.size());
        for (std::size_t i = 0; i < fluid.size(); ++i) {
            if (std::isnan(fluid[i]) && std::isnan(cm02[i])) continue;
            EXPECT_NEAR(fluid[i], cm02[i], 1e-9 * cm02[i]);
        }
        if (testing::Test::HasFailure()) break;
    }
}

TEST(Differential, FluidEqualsSimGridInStep) { expect_agreement(true, Weights::one, 100); }
TEST(Differential, FluidEqualsSimGridStaggered) { expect_agreement(false, Weights::one, 100); }
TEST(Differential, FluidEqualsSimGridInStepWithWeights) { expect_agreement(true, Weights::by_flow, 100); }
TEST(Differential, FluidEqualsSimGridStaggeredWithWeights) { expect_agreement(false, Weights::by_flow, 100); }

TEST(FluidEngine, BytesAreConserved) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE(seed);
        const Scenario scenario = random_scenario(seed, seed % 2 == 0, Weights::by_link);
        const Outcome outcome = play(scenario, *make_fluid_engine(scenario.capacity));
        const auto expected = expected_carried(scenario);
        for (std::size_t l = 0; l < expected.size(); ++l) {
            EXPECT_NEAR(outcome.carried[l], expected[l], 1e-9 * expected[l]);
            // No link carried more than its capacity allows.
            EXPECT_LE(outcome.carried[l], scenario.capacity[l] * outcome.seen.back().at * (1 + 1e-9));
        }
    }
}

TEST(FluidEngine, TheSameInputGivesTheSameBits) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        const Scenario scenario = random_scenario(seed, false, Weights::by_link);
        const Outcome first = play(scenario, *make_fluid_engine(scenario.capacity));
        const Outcome second = play(scenario, *make_fluid_engine(scenario.capacity));
        EXPECT_EQ(first.seen, second.seen);
        EXPECT_EQ(first.carried, second.carried);
    }
}

TEST(FluidEngine, ThousandsOfSimulationsFitInOneProcess) {
    for (int i = 0; i < 2000; ++i) {
        const auto engine = make_fluid_engine({1e9});
        Recorder sink(*engine);
        start(*engine, {{0, 1}}, 1e9, 1);
        engine->timer(0.5, 2);
        engine->run(sink);
        ASSERT_EQ(sink.seen, (std::vector<Seen>{{0.5, false, 2}, {1.0, true, 1}})) << i;
    }
}

}  // namespace
}  // namespace orrery::sim
