// Laws of perturbed steps, over random scenarios.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "sim/agreement.hpp"
#include "tests/property/more.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using scenarios::Straggler;

class Perturbation : public testing::TestWithParam<std::uint64_t> {
protected:
    /// A random scenario of at most 64 ranks, and one of its ranks.
    Perturbation() : scenario_(scenario_of(random_document(GetParam()))), random_(GetParam()) {
        rank_ = static_cast<std::uint32_t>(random_() % scenario_.gpus);
    }
    [[nodiscard]] scenarios::Scenario with(const scenarios::Perturbations& table, std::uint64_t seed = 1) const {
        scenarios::Scenario changed = scenario_;
        changed.perturbations = table;
        changed.seed = seed;
        return changed;
    }
    [[nodiscard]] double step(const scenarios::Perturbations& table, std::uint64_t seed = 1) const {
        return quick(with(table, seed)).step_time_s;
    }
    /// The same without sharing of links.
    [[nodiscard]] double path(const scenarios::Perturbations& table) const {
        return laws::uncontended_seconds(with(table));
    }
    [[nodiscard]] scenarios::Perturbations straggler(double factor, double from = 0,
                                                     double to = std::numeric_limits<double>::infinity()) const {
        return {.stragglers = {{rank_, rank_, factor, {from, to}}}};
    }

    scenarios::Scenario scenario_;
    std::mt19937_64 random_;
    std::uint32_t rank_ = 0;
};

/// Where transfers share links, a straggler may end a step earlier: sim/README.md has an example ("More that takes
/// less"), replayed below. What always holds: without sharing it never helps, and sharing only delays.
TEST_P(Perturbation, AStragglerDelaysTheMoreTheSlowerAndLongerItIs) {
    SCOPED_TRACE(fmt::format("seed {}, rank {}", GetParam(), rank_));
    const double planned = path({}), rounding = 1e-9 * planned;
    double before = planned;
    for (const double factor : {1.1, 2.0, 20.0}) {
        const double slow = path(straggler(factor));
        EXPECT_GE(slow, before - rounding) << factor;
        EXPECT_LE(slow, factor * planned + rounding) << "slower than if everything were";
        EXPECT_GE(step(straggler(factor)), slow - rounding) << "sharing delays";
        before = slow;
    }
    EXPECT_GT(before, planned) << "a rank that computes twenty times as long is noticed, though its host be slow";
    const double part = path(straggler(20.0, 0.25 * planned, 0.5 * planned));
    EXPECT_GE(part, planned - rounding);
    EXPECT_LE(part, before + rounding);
}

TEST_P(Perturbation, OutsideTheStepNothingChanges) {
    SCOPED_TRACE(fmt::format("seed {}, rank {}", GetParam(), rank_));
    const double planned = step({});
    EXPECT_NEAR(step(straggler(3.0, 2 * planned)), planned, 1e-9 * planned);
}

TEST_P(Perturbation, JitterFollowsFromTheSeed) {
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    const scenarios::Perturbations jitter{.jitter = 0.05};
    const double once = step(jitter, 3);
    EXPECT_EQ(once, step(jitter, 3)) << "bit by bit";
    EXPECT_NE(once, step(jitter, 4));
    EXPECT_NEAR(step({.jitter = 1e-9}, 3), step({}), 1e-7 * once);
}

TEST_P(Perturbation, FoldingSplitsExactly) {
    SCOPED_TRACE(fmt::format("seed {}, rank {}", GetParam(), rank_));
    scenarios::Scenario slow = scenario_;
    slow.perturbations = straggler(1.7, 1e-3);
    const Agreement agreement = check_folding(slow, profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

INSTANTIATE_TEST_SUITE_P(Property, Perturbation, testing::Range<std::uint64_t>(1, 13));

TEST(Perturbed, FactorOneChangesNothingBitByBit) {
    const double planned = quick(small_scenario()).step_time_s;
    const auto one = small_scenario(R"({"perturbations": {"stragglers": ["ranks 0-15 x 1"], "jitter": 0,
                                        "slow_links": ["node 1 nic 0 x 1"]}})");
    EXPECT_TRUE(one.perturbations.none());
    EXPECT_EQ(quick(one).step_time_s, planned);
}

/// The example of sim/README.md: two pipelines in step send over one NIC, and one that is out of step has it to itself.
TEST(Perturbed, AStragglerMayEndAStepEarlierWhereTransfersShareALink) {
    scenarios::Scenario scenario = small_scenario(R"({
        "cluster": {"preset": "ethernet", "nodes": 2, "gpu": "A100-80GB", "gpus_per_node": 4, "nics_per_node": 1,
                    "nic_rate": "25 Gb/s"},
        "strategy": {"tensor": 1, "pipeline": 4, "data": 2, "schedule": "gpipe"},
        "training": {"micro_batch_size": 2, "cuda_graph": true}})");
    const auto with = [&](double factor) {
        scenario.perturbations.stragglers = {{3, 3, factor, {}}};
        return scenario;
    };
    const double planned = quick(with(1)).step_time_s;
    EXPECT_LT(quick(with(1.3)).step_time_s, 0.95 * planned);
    EXPECT_GT(quick(with(3)).step_time_s, planned);
    EXPECT_GT(laws::uncontended_seconds(with(1.3)), laws::uncontended_seconds(with(1))) << "alone it delays";
    for (const double factor : {1.0, 1.3, 3.0}) {
        const Agreement agreement = check_engine(with(factor), profiles(), false);
        EXPECT_TRUE(agreement.agrees()) << "SimGrid's network does the same: " << agreement.text();
    }
}

TEST(Perturbed, ASlowLinkDelaysAndFoldsExactly) {
    const char* base = R"({"cluster": {"nodes": 4}, "strategy": {"tensor": 4, "pipeline": 2, "data": 4}})";
    const double planned = quick(small_scenario(base)).step_time_s;
    double before = planned;
    for (const char* slow : {"node 1 nic 0 x 2", "node 1 nic 0 x 20", "node 1 nic 0 down to 1 s"}) {
        SCOPED_TRACE(slow);
        auto scenario = small_scenario(base);
        scenario.perturbations.links = {scenarios::parse_slow_link(slow)};
        const double seconds = quick(scenario).step_time_s;
        EXPECT_GT(seconds, before);
        before = seconds;
        const Agreement agreement = check_folding(scenario, profiles(), EngineKind::fast);
        EXPECT_TRUE(agreement.agrees()) << agreement.text();
    }
    EXPECT_GT(before, 1) << "nothing passes the link for a second";
}

}  // namespace
}  // namespace orrery::sim
