#include "sim/engine.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "tests/sim/recorder.hpp"

namespace orrery::sim {
namespace {

using Make = std::unique_ptr<Engine> (*)(std::vector<double>);

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

}  // namespace
}  // namespace orrery::sim
