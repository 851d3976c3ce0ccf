// Laws of steps that share links with background traffic and other jobs, over random scenarios.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "sim/agreement.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using scenarios::Background;
using scenarios::TrafficEnd;

constexpr std::uint64_t seeds = 12;

/// A job over an oversubscribed fat tree of 8 nodes with random widths and traffic.
class Sharing : public testing::TestWithParam<std::uint64_t> {
protected:
    Sharing() : random_(GetParam()) {
        const std::uint32_t tensor = 1U << random_() % 3, pipeline = 1U << random_() % 2;
        const std::uint32_t data = 16 / (tensor * pipeline);
        scenario_ = small_scenario(fmt::format(
            R"({{"cluster": {{"preset": "dgx-a100", "nodes": 8, "oversubscription": 4, "switch_ports": 20}},
                "strategy": {{"tensor": {}, "pipeline": {}, "data": {}, "overlap_grad_reduce": {}}},
                "training": {{"global_batch_size": {}}}}})",
            tensor, pipeline, data, random_() % 2 == 0, 4 * data));
    }
    [[nodiscard]] std::uint32_t below(std::uint32_t count) { return static_cast<std::uint32_t>(random_() % count); }
    /// Between two of the first four nodes, or of its NICs or GPUs.
    [[nodiscard]] Background traffic(double bytes_per_second) {
        const auto kind = static_cast<TrafficEnd::Kind>(below(3));
        const bool gpus = kind == TrafficEnd::Kind::gpus;
        const std::uint32_t from = below(4), to = (from + 1 + below(3)) % 4, scale = gpus ? 8 : 1;
        return {{kind, from * scale, from * scale, below(8)},
                {kind, to * scale, to * scale, below(8)},
                bytes_per_second,
                {below(2) * 1e-3, below(2) == 0 ? 1.0 : 1e-2}};
    }
    /// Of the random job's kind, on the GPUs after its own, odd and even ones mixed.
    [[nodiscard]] scenarios::OtherJob neighbour() {
        scenarios::OtherJob job;
        job.name = "neighbour";
        job.plan = scenario_.plan;
        job.plan.training.global_batch *= 1 + below(3);
        std::vector<std::uint32_t> gpus;
        for (std::uint32_t rank = 0; rank < 16; ++rank) gpus.push_back(16 + rank * 3 % 48);
        job.plan.placement = strategies::RankPlacement(std::move(gpus));
        job.starts_at = below(2) * 1e-3;
        return job;
    }
    [[nodiscard]] static double step(const scenarios::Scenario& scenario) { return quick(scenario).step_time_s; }

    std::mt19937_64 random_;
    scenarios::Scenario scenario_;
};

TEST_P(Sharing, TinyTrafficChangesTheStepByAsLittle) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    const double alone = step(scenario_);
    scenario_.perturbations.background = {traffic(1.0), traffic(1.0)};
    EXPECT_NEAR(step(scenario_), alone, 1e-8 * alone) << "1 B/s of 25 GB/s";
    scenario_.perturbations.background[0].bytes_per_second = 1e4;
    EXPECT_NEAR(step(scenario_), alone, 1e-5 * alone);
}

TEST_P(Sharing, MoreTrafficNeverHelpsASynchronisedStep) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    scenario_.plan.strategy.pipeline = 1;  // one role: all ranks reduce at once
    scenario_.plan.strategy.data = 16 / scenario_.plan.strategy.tensor;
    scenario_.plan.strategy.overlap_grad_reduce = false;
    scenario_.plan.training.global_batch = scenario_.plan.strategy.data * 4;
    double before = step(scenario_);
    scenario_.perturbations.background = {traffic(1.0)};
    scenario_.perturbations.background[0].when = {};
    for (const double rate : {1e9, 4e9, 12e9, 1e12}) {
        scenario_.perturbations.background[0].bytes_per_second = rate;
        const double now = step(scenario_);
        EXPECT_GE(now, before * (1 - 1e-9)) << rate;
        before = now;
    }
}

TEST_P(Sharing, FoldingIsExactBesideTraffic) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    scenario_.perturbations.background = {traffic(3e9), traffic(2e10)};
    const Agreement agreement = check_folding(scenario_, profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

TEST_P(Sharing, FoldingIsExactBesideOtherJobs) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    scenario_.other_jobs = {neighbour()};
    if (below(2) == 0) scenario_.perturbations.background = {traffic(5e9)};
    const Agreement agreement = check_folding(scenario_, profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

TEST_P(Sharing, TheReferenceAgrees) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    scenario_.other_jobs = {neighbour()};
    scenario_.perturbations.background = {traffic(5e9)};
    const Agreement agreement = check_engine(scenario_, profiles(), false);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

/// Jobs whose nodes are on leaves of their own.
TEST_P(Sharing, JobsThatShareNoLinkAreAsIfAlone) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    scenarios::OtherJob other = neighbour();
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t rank = 0; rank < 16; ++rank) gpus.push_back(48 + rank);
    other.plan.placement = strategies::RankPlacement(std::move(gpus));
    const topology::Cluster cluster = topology::build(scenario_.cluster);
    const auto& predictor = profiles().find(scenario_.profile);
    const RanStep own(scenario_.plan, cluster, predictor), theirs(other.plan, cluster, predictor);
    const RanStep both(scenario_.plan, cluster, predictor, {.others = {&other, 1}});
    EXPECT_NEAR(both.replayed.end, own.replayed.end, 1e-9 * own.replayed.end);
    EXPECT_NEAR(both.others[0].replayed.end - other.starts_at, theirs.replayed.end, 1e-9 * theirs.replayed.end);
}

TEST_P(Sharing, JobsMayBeNamedInAnyOrder) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    scenarios::OtherJob other = neighbour(), own = other;
    other.starts_at = 0;
    own.plan = scenario_.plan;
    own.starts_at = 0;
    const topology::Cluster cluster = topology::build(scenario_.cluster);
    const auto& predictor = profiles().find(scenario_.profile);
    const RanStep one(scenario_.plan, cluster, predictor, {.others = {&other, 1}});
    const RanStep two(other.plan, cluster, predictor, {.others = {&own, 1}});
    EXPECT_NEAR(one.replayed.end, two.others[0].replayed.end, 1e-9 * one.replayed.end);
    EXPECT_NEAR(one.others[0].replayed.end, two.replayed.end, 1e-9 * two.replayed.end);
}

INSTANTIATE_TEST_SUITE_P(Property, Sharing, testing::Range<std::uint64_t>(1, seeds + 1));

}  // namespace
}  // namespace orrery::sim
