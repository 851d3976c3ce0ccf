// Streams, flows without end, on both engines; and runs that are stopped.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <string>

#include "base/error.hpp"
#include "sim/engine.hpp"

namespace orrery::sim {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Does what the test wants on timers, and keeps when flows end.
class Sink : public EventSink {
public:
    explicit Sink(Engine& engine) : engine_(engine) {}
    void on_timer(std::uint64_t tag) override {
        ++told;
        then(tag);
    }
    void on_flow_end(std::uint64_t tag) override {
        ++told;
        ends[tag] = engine_.now();
    }

    std::function<void(std::uint64_t)> then = [](std::uint64_t) {};
    std::map<std::uint64_t, double> ends;
    int told = 0;

private:
    Engine& engine_;
};

using Make = std::unique_ptr<Engine> (*)(std::vector<double>);
class Streams : public testing::TestWithParam<Make> {};
INSTANTIATE_TEST_SUITE_P(Engines, Streams, testing::Values(&make_fluid_engine, &make_cm02_engine),
                         [](const auto& engine) { return std::string(engine.index == 0 ? "Fluid" : "Cm02"); });

const std::vector<LinkUse> link_0{{0, 1}};

TEST_P(Streams, AStreamTakesItsRateFromItsBeginToItsEnd) {
    const auto engine = GetParam()({1e9});
    Sink sink(*engine);
    engine->flow(link_0, 2e9, infinity, 1);
    engine->timer(0.5, 10);
    engine->timer(1.5, 11);
    sink.then = [&](std::uint64_t tag) {
        if (tag == 10) engine->stream(link_0, 2e8, 5);
        if (tag == 11) engine->end_stream(5);
    };
    engine->run(sink);
    EXPECT_NEAR(sink.ends.at(1), 2.2, 1e-10) << "0.8e9 in the stream's second";
    EXPECT_NEAR(engine->carried_bytes(0), 2.2e9, 1);
    EXPECT_EQ(sink.told, 3) << "nobody hears of a stream";
}

TEST_P(Streams, StreamsGetTheirFairShareAtMost) {
    const auto engine = GetParam()({1e9});
    Sink sink(*engine);
    engine->flow(link_0, 1e9, infinity, 1);
    engine->timer(0.0, 10);
    sink.then = [&](std::uint64_t tag) {
        if (tag != 10) return;
        engine->stream(link_0, 5e9, 5);
        engine->stream(link_0, 5e9, 6);
    };
    engine->run(sink);
    EXPECT_NEAR(sink.ends.at(1), 3.0, 1e-10) << "a third of the link";
    EXPECT_NEAR(engine->now(), 3.0, 1e-10) << "streams keep no run going";
    EXPECT_NEAR(engine->carried_bytes(0), 3e9, 10);
}

TEST_P(Streams, StopDropsWhatIsPending) {
    const auto engine = GetParam()({1e9});
    Sink sink(*engine);
    engine->flow(link_0, 4e9, infinity, 1);
    engine->timer(1.0, 10);
    engine->timer(9.0, 11);
    sink.then = [&](std::uint64_t) { engine->stop(); };
    engine->run(sink);
    EXPECT_EQ(sink.told, 1);
    EXPECT_NEAR(engine->now(), 1.0, 1e-10);
    EXPECT_NEAR(engine->carried_bytes(0), 1e9, 1);
}

TEST_P(Streams, BadStreamsAreRefused) {
    const auto engine = GetParam()({1e9});
    EXPECT_THROW(engine->stream(link_0, infinity, 1), Error);
    EXPECT_THROW(engine->stream(link_0, 0, 1), Error);
    EXPECT_THROW(engine->stream({}, 1e8, 1), Error);
    EXPECT_THROW(engine->stream(std::vector<LinkUse>{{1, 1}}, 1e8, 1), Error);
    EXPECT_THROW(engine->end_stream(1), Error);
    engine->stream(link_0, 1e8, 1);
    EXPECT_THROW(engine->stream(link_0, 1e8, 1), Error) << "the same tag twice";
    engine->end_stream(1);
    engine->stream(link_0, 1e8, 1);
}

}  // namespace
}  // namespace orrery::sim
