#include "sim/engine.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include "base/error.hpp"

namespace orrery::sim {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Make = std::unique_ptr<Engine> (*)(std::vector<double>);

struct Seen {
    double at;
    bool flow;
    std::uint64_t tag;
    bool operator==(const Seen&) const = default;
};

/// Writes down what it is told, then does what the test wants.
class Recorder : public EventSink {
public:
    explicit Recorder(Engine& engine) : engine_(engine) {}
    void on_timer(std::uint64_t tag) override { note(false, tag); }
    void on_flow_end(std::uint64_t tag) override { note(true, tag); }

    std::function<void(const Seen&)> then = [](const Seen&) {};
    std::vector<Seen> seen;

    [[nodiscard]] double flow_end(std::uint64_t tag) const {
        for (const Seen& event : seen)
            if (event.flow && event.tag == tag) return event.at;
        return std::nan("");
    }

private:
    void note(bool flow, std::uint64_t tag) {
        seen.push_back({engine_.now(), flow, tag});
        const Seen event = seen.back();
        then(event);
    }
    Engine& engine_;
};

void start(Engine& engine, std::vector<LinkUse> uses, double bytes, std::uint64_t tag, double limit = infinity) {
    engine.flow(uses, bytes, limit, tag);
}

const std::string names[] = {"Fluid", "FluidInSimGrid", "Cm02"};

/// What holds for all engines.
class AnyEngine : public testing::TestWithParam<Make> {};
INSTANTIATE_TEST_SUITE_P(Engines, AnyEngine,
                         testing::Values(&make_fluid_engine, &make_fluid_engine_in_simgrid, &make_cm02_engine),
                         [](const auto& engine) { return names[engine.index]; });

TEST_P(AnyEngine, NothingPendingEndsAtZero) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    engine->run(sink);
    EXPECT_EQ(engine->now(), 0.0);
    EXPECT_TRUE(sink.seen.empty());
}

TEST_P(AnyEngine, TwoFlowsShareALink) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    start(*engine, {{0, 1}}, 1e9, 1);
    start(*engine, {{0, 1}}, 2e9, 2);
    engine->run(sink);
    EXPECT_NEAR(sink.flow_end(1), 2.0, 1e-10);
    EXPECT_NEAR(sink.flow_end(2), 3.0, 1e-10);
    EXPECT_NEAR(engine->carried_bytes(0), 3e9, 1e-3);
}

TEST_P(AnyEngine, ALimitLeavesTheRestToOthers) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    start(*engine, {{0, 1}}, 2e8, 1, 2e8);
    start(*engine, {{0, 1}}, 1.6e9, 2);
    engine->run(sink);
    EXPECT_NEAR(sink.flow_end(1), 1.0, 1e-10);  // at its limit
    EXPECT_NEAR(sink.flow_end(2), 1.8, 1e-10);  // 0.8e9 at 0.8e9 per second, then 0.8e9 at the full rate
}

TEST_P(AnyEngine, TimersInterleaveWithFlows) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    start(*engine, {{0, 1}}, 1e9, 1);
    engine->timer(0.5, 7);
    engine->timer(2.5, 8);
    double carried_halfway = 0.0;
    sink.then = [&](const Seen& event) {
        if (event.tag == 7) carried_halfway = engine->carried_bytes(0);
        if (event.tag == 7) start(*engine, {{0, 1}}, 1e9, 2);
    };
    engine->run(sink);
    ASSERT_EQ(sink.seen.size(), 4u);
    EXPECT_EQ(sink.seen[0], (Seen{0.5, false, 7}));
    EXPECT_NEAR(sink.seen[1].at, 1.5, 1e-10);  // half of it alone, half of it shared
    EXPECT_NEAR(sink.seen[2].at, 2.0, 1e-10);
    EXPECT_NEAR(sink.seen[3].at, 2.5, 1e-10);
    EXPECT_EQ(sink.seen[3].tag, 8u);
    EXPECT_NEAR(carried_halfway, 0.5e9, 1e-3);
}

TEST_P(AnyEngine, EventsOfOneMomentKeepTheirOrder) {
    const auto engine = GetParam()({1e9, 1e9, 1e9});
    Recorder sink(*engine);
    engine->timer(1.0, 4);
    start(*engine, {{2, 1}}, 1e9, 3);
    engine->timer(1.0, 2);
    start(*engine, {{0, 1}}, 1e9, 1);
    engine->timer(1.0, 0);
    sink.then = [&](const Seen& event) {
        if (event.tag == 4) engine->timer(engine->now(), 9);
    };
    engine->run(sink);
    std::vector<std::uint64_t> tags;
    for (const Seen& event : sink.seen) tags.push_back(event.tag);
    EXPECT_EQ(tags, (std::vector<std::uint64_t>{4, 3, 2, 1, 0, 9}));
}

TEST_P(AnyEngine, AFlowOfNoBytesEndsAtOnceButNotInsideTheCall) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    sink.then = [&](const Seen& event) {
        if (event.flow) return;
        start(*engine, {{0, 1}}, 0.0, 5);
        EXPECT_EQ(sink.seen.size(), 1u);
    };
    engine->timer(0.25, 1);
    engine->run(sink);
    ASSERT_EQ(sink.seen.size(), 2u);
    EXPECT_EQ(sink.seen[1], (Seen{0.25, true, 5}));
}

TEST_P(AnyEngine, AFlowWithoutLinksTakesItsLimit) {
    const auto engine = GetParam()({});
    Recorder sink(*engine);
    start(*engine, {}, 3e9, 1, 1e9);
    start(*engine, {}, 3e9, 2);
    engine->run(sink);
    EXPECT_NEAR(sink.flow_end(1), 3.0, 1e-9);
    EXPECT_EQ(sink.flow_end(2), 0.0);
}

TEST_P(AnyEngine, TheSinksExceptionPassesThrough) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    sink.then = [](const Seen&) { throw std::runtime_error("from the sink"); };
    engine->timer(1.0, 1);
    engine->timer(2.0, 2);
    start(*engine, {{0, 1}}, 5e9, 3);
    EXPECT_THROW(engine->run(sink), std::runtime_error);
    EXPECT_EQ(sink.seen.size(), 1u);
    const auto next = GetParam()({1e9});  // SimGrid is free for the next simulation
    Recorder calm(*next);
    next->timer(1.0, 1);
    next->run(calm);
    EXPECT_EQ(calm.seen.size(), 1u);
}

TEST_P(AnyEngine, RunsAgainFromWhereItStopped) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    start(*engine, {{0, 1}}, 1e9, 1);
    engine->run(sink);
    EXPECT_NEAR(engine->now(), 1.0, 1e-10);
    start(*engine, {{0, 1}}, 1e9, 2);
    engine->timer(1.5, 3);
    engine->run(sink);
    EXPECT_NEAR(sink.flow_end(2), 2.0, 1e-10);
    EXPECT_NEAR(engine->carried_bytes(0), 2e9, 1e-3);
}

TEST_P(AnyEngine, RunsDoNotNest) {
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    engine->timer(1.0, 1);
    sink.then = [&](const Seen&) { engine->run(sink); };
    EXPECT_THROW(engine->run(sink), Error);
}

/// One kernel of SimGrid's a process; ours run beside and inside each other.
TEST_P(AnyEngine, RunsInsideAnothersRunUnlessBothAreSimGrids) {
    const auto engine = GetParam()({1e9}), other = GetParam()({1e9});
    Recorder sink(*engine), other_sink(*other);
    engine->timer(1.0, 1);
    other->timer(2.0, 1);
    sink.then = [&](const Seen&) { other->run(other_sink); };
    if (GetParam() != &make_fluid_engine) {
        EXPECT_THROW(engine->run(sink), Error);
        return;
    }
    engine->run(sink);
    EXPECT_EQ(other->now(), 2.0);
    EXPECT_EQ(engine->now(), 1.0);
}

/// SimGrid's clock would go on from run to run, and of 10^6 s a double resolves 10^-10.
TEST_P(AnyEngine, IsAsPreciseAfterLongRuns) {
    const auto before = GetParam()({1e9});
    Recorder nobody(*before);
    before->timer(1e6, 1);
    before->run(nobody);
    const auto engine = GetParam()({1e9});
    Recorder sink(*engine);
    start(*engine, {{0, 1}}, 1e6, 1);
    start(*engine, {{0, 1}}, 3e6, 2);
    engine->run(sink);
    EXPECT_NEAR(sink.flow_end(1), 2e-3, 1e-9 * 2e-3);
    EXPECT_NEAR(sink.flow_end(2), 4e-3, 1e-9 * 4e-3);
}

TEST_P(AnyEngine, RefusesWhatMakesNoSense) {
    const double nan = std::nan("");
    EXPECT_THROW(GetParam()({0.0}), Error);
    EXPECT_THROW(GetParam()({1e9, -1.0}), Error);
    EXPECT_THROW(GetParam()({nan}), Error);
    const auto engine = GetParam()({1e9});
    EXPECT_THROW(engine->timer(-1.0, 0), Error);
    EXPECT_THROW(engine->timer(nan, 0), Error);
    EXPECT_THROW(engine->timer(infinity, 0), Error);
    EXPECT_THROW(start(*engine, {{1, 1}}, 1.0, 0), Error);
    EXPECT_THROW(start(*engine, {{0, -1}}, 1.0, 0), Error);
    EXPECT_THROW(start(*engine, {{0, nan}}, 1.0, 0), Error);
    EXPECT_THROW(start(*engine, {{0, 1}}, -1.0, 0), Error);
    EXPECT_THROW(start(*engine, {{0, 1}}, infinity, 0), Error);
    EXPECT_THROW(start(*engine, {{0, 1}}, 1.0, 0, 0.0), Error);
    EXPECT_THROW(start(*engine, {{0, 1}}, 1.0, 0, nan), Error);
    EXPECT_THROW((void)engine->carried_bytes(1), Error);
    Recorder sink(*engine);
    engine->run(sink);
    EXPECT_TRUE(sink.seen.empty()) << "a refused event leaves no trace";
}

TEST(Cm02Engine, RefusesWhatSimGridCannotExpress) {
    EXPECT_THROW(make_cm02_engine({infinity}), Error);
    const auto engine = make_cm02_engine({1e9, 1e9});
    EXPECT_THROW(start(*engine, {{0, 2}, {1, 1}}, 1.0, 0), Error);
    EXPECT_THROW(start(*engine, {{0, 1}, {0, 1}}, 1.0, 0), Error);
}

TEST(FluidEngine, WeightsLoadLinks) {
    const auto engine = make_fluid_engine({8e9});
    Recorder sink(*engine);
    start(*engine, {{0, 3}}, 2e9, 1);  // 2e9 bytes per second of its own, 6e9 on the link
    start(*engine, {{0, 1}}, 4e9, 2);  // 2e9, and then the whole link
    engine->run(sink);
    EXPECT_NEAR(sink.flow_end(1), 1.0, 1e-10);
    EXPECT_NEAR(sink.flow_end(2), 1.25, 1e-10);
    EXPECT_NEAR(engine->carried_bytes(0), 3 * 2e9 + 4e9, 1e-3);
}

TEST(FluidEngine, WeightZeroAndInfiniteCapacityBindNobody) {
    const auto engine = make_fluid_engine({1e9, infinity});
    Recorder sink(*engine);
    start(*engine, {{0, 0}, {1, 2}}, 3e9, 1, 1e9);
    start(*engine, {{1, 1}}, 1e9, 2);
    start(*engine, {{0, 1}, {1, 1}}, 1e9, 3);
    engine->run(sink);
    EXPECT_EQ(sink.flow_end(1), 3.0);
    EXPECT_EQ(sink.flow_end(2), 0.0);
    EXPECT_EQ(sink.flow_end(3), 1.0);
    EXPECT_EQ(engine->carried_bytes(0), 1e9);
    EXPECT_EQ(engine->carried_bytes(1), 2 * 3e9 + 1e9 + 1e9);
}

TEST(FluidEngine, ALinkNamedTwiceCarriesTwice) {
    const auto engine = make_fluid_engine({1e9});
    Recorder sink(*engine);
    start(*engine, {{0, 1}, {0, 1}}, 1e9, 1);
    engine->run(sink);
    EXPECT_NEAR(sink.flow_end(1), 2.0, 1e-10);
    EXPECT_NEAR(engine->carried_bytes(0), 2e9, 1e-3);
}

TEST(FluidEngine, ResolvesPicoseconds) {
    // SimGrid's default precision would merge these into one nanosecond.
    const auto engine = make_fluid_engine({});
    Recorder sink(*engine);
    for (std::uint64_t i = 100; i > 0; --i) engine->timer(1e-3 + 1e-12 * static_cast<double>(i), i);
    engine->run(sink);
    ASSERT_EQ(sink.seen.size(), 100u);
    for (std::uint64_t i = 1; i <= 100; ++i)
        EXPECT_EQ(sink.seen[i - 1], (Seen{1e-3 + 1e-12 * static_cast<double>(i), false, i}));
}

TEST(FluidEngine, AChainOf200000FlowsNeedsNoStack) {
    // Flow i shares link i with flow i - 1 and link i + 1 with flow i + 1: one component, solved whole.
    const std::uint32_t flows = 200'000;
    const auto engine = make_fluid_engine(std::vector<double>(flows + 1, 1e9));
    Recorder sink(*engine);
    for (std::uint32_t f = 0; f < flows; ++f) start(*engine, {{f, 1}, {f + 1, 1}}, 1e9, f);
    engine->run(sink);
    EXPECT_EQ(sink.seen.size(), flows);
    EXPECT_NEAR(engine->now(), 2.0, 1e-9);
}

TEST(FluidEngine, A200000LongDependencyNeedsNoStack) {
    const auto engine = make_fluid_engine({1e9});
    Recorder sink(*engine);
    sink.then = [&](const Seen& event) {
        if (event.tag < 200'000) start(*engine, {{0, 1}}, event.tag % 2 ? 0.0 : 1e3, event.tag + 1);
    };
    start(*engine, {{0, 1}}, 1e3, 0);
    engine->run(sink);
    EXPECT_EQ(sink.seen.size(), 200'001u);
    EXPECT_NEAR(engine->now(), 1e-6 * 100'001, 1e-10);
}

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
