// What a perturbation does to one kernel, to one rank's neighbours and to one link.
#include "sim/perturbed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "sim/run_step.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(PacedEnd, CountsOnlyTheWindow) {
    const Pace window[] = {{1.0, 2.0}, {3.0, 1.0}};  // twice as long from 1 s to 3 s
    EXPECT_EQ(paced_end({}, 0.5, 0.25), 0.75);
    EXPECT_EQ(paced_end(window, 0.0, 1.0), 1.0) << "ends as the window opens";
    EXPECT_EQ(paced_end(window, 0.5, 1.0), 2.0) << "half before, half at half the pace";
    EXPECT_EQ(paced_end(window, 1.0, 1.0), 3.0) << "fills the window";
    EXPECT_EQ(paced_end(window, 1.0, 1.5), 3.5);
    EXPECT_EQ(paced_end(window, 0.0, 4.0), 5.0) << "spans it: one second of work lost";
    EXPECT_EQ(paced_end(window, 3.0, 1.0), 4.0) << "begins as it closes";
    EXPECT_EQ(paced_end(window, 2.0, 0.0), 2.0);
}

TEST(JitterFactor, HasMeanOneAndItsDeviation) {
    constexpr double sigma = 0.1;
    double sum = 0, logs = 0, squares = 0;
    constexpr std::uint32_t count = 200'000;
    for (std::uint32_t i = 0; i < count; ++i) {
        const double factor = jitter_factor(sigma, 7, i % 1000, i / 1000);
        sum += factor;
        logs += std::log(factor);
        squares += std::log(factor) * std::log(factor);
    }
    EXPECT_NEAR(sum / count, 1, 0.001);
    EXPECT_NEAR(std::sqrt(squares / count - logs / count * logs / count), sigma, 0.001);
    EXPECT_EQ(jitter_factor(sigma, 7, 3, 4), jitter_factor(sigma, 7, 3, 4));
    EXPECT_NE(jitter_factor(sigma, 7, 3, 4), jitter_factor(sigma, 7, 4, 3));
    EXPECT_NE(jitter_factor(sigma, 7, 3, 4), jitter_factor(sigma, 8, 3, 4));
}

/// Keeps the ends of flows by tag, and changes a capacity on timer 100.
class Sink final : public EventSink {
public:
    explicit Sink(Engine& engine, double capacity) : engine_(engine), capacity_(capacity) {}
    void on_timer(std::uint64_t tag) override {
        if (tag < 100) return engine_.flow(uses, 100, infinity, tag);
        engine_.capacity(0, tag == 100 ? capacity_ : 100);
    }
    void on_flow_end(std::uint64_t tag) override { ends.at(tag) = engine_.now(); }

    std::vector<LinkUse> uses{{0, 1.0}};
    std::vector<double> ends = std::vector<double>(2, -1);

private:
    Engine& engine_;
    double capacity_;
};

TEST(Capacity, ChangesWhatFlowsGet) {
    const auto engine = make_fluid_engine({100, 1000});
    Sink sink(*engine, 50);
    sink.uses = {{0, 1.0}, {1, 1.0}};
    engine->timer(0, 0);
    engine->timer(0.5, 100);  // 50 of 100 bytes are left
    engine->timer(2, 1);
    engine->timer(3, 101);
    engine->run(sink);
    EXPECT_DOUBLE_EQ(sink.ends[0], 1.5);
    EXPECT_DOUBLE_EQ(sink.ends[1], 3.5) << "50 bytes in the slow second, 50 in half a fast one";
    EXPECT_DOUBLE_EQ(engine->carried_bytes(0), 200);
}

TEST(Capacity, ZeroStallsAndSharesAreFairAfterwards) {
    const auto engine = make_fluid_engine({100});
    Sink sink(*engine, 0);
    engine->timer(0, 0);
    engine->timer(0.5, 100);
    engine->timer(0.75, 1);  // begins while nothing moves
    engine->timer(2, 101);
    engine->run(sink);
    EXPECT_DOUBLE_EQ(sink.ends[0], 3.0) << "50 bytes at 50 a second";
    EXPECT_DOUBLE_EQ(sink.ends[1], 3.5);
}

TEST(Capacity, NegativeIsRefusedAndCm02KeepsItsOwn) {
    const auto engine = make_fluid_engine({100});
    EXPECT_THROW(engine->capacity(0, -1), Error);
    EXPECT_THROW(engine->capacity(1, 1), Error);
    EXPECT_THROW(make_cm02_engine({100})->capacity(0, 50), Error);
}

TEST(Straggler, SplitsTheClassesAndDelaysItsOwnGroupFirst) {
    const auto scenario =
        small_scenario(R"({"training": {"cuda_graph": true}, "perturbations": {"stragglers": ["rank 3 x 2"]}})");
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const Perturbed perturbed(scenario.perturbations, scenario.seed, cluster, scenario.plan);
    const auto& predictor = profiles().find(scenario.profile);
    const RanStep ran(scenario.plan, cluster, predictor, {.perturbed = &perturbed});
    const RanStep planned(scenario.plan, cluster, predictor);
    EXPECT_GT(ran.folding->classes.size(), planned.folding->classes.size());
    EXPECT_EQ(ran.folding->classes[ran.folding->class_of[3]].size, 1U);
    EXPECT_GT(ran.replayed.end, planned.replayed.end * 1.2);
    EXPECT_LT(ran.replayed.end, planned.replayed.end * 2);
}

}  // namespace
}  // namespace orrery::sim
