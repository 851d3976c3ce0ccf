// Routing policies and failures in predictions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sim/link_levels.hpp"
#include "sim/network.hpp"
#include "sim/run_step.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

/// A small GPT in two stages of so many nodes each, under leaves of 8 nodes a rail, joined by 8 spines a rail: every
/// micro-batch crosses the spines. NICs are slow, so that the network counts.
scenarios::Scenario two_stages(const std::string& cluster, int nodes_a_stage = 16, const std::string& more = "") {
    const int data = 8 * nodes_a_stage;
    const std::string patch = fmt::format(
        R"({{"strategy": {{"tensor": 1, "pipeline": 2, "data": {}}}, "training": {{"global_batch_size": {}}},
            "cluster": {{"preset": "dgx-a100", "nodes": {}, "nic_rate": "10 Gb/s", "switch_ports": 16{}}}{}}})",
        data, 8 * data, 2 * nodes_a_stage, cluster, more);
    return small_scenario(patch);
}

double step_time(const std::string& cluster, int nodes_a_stage = 16) {
    return quick(two_stages(cluster, nodes_a_stage)).step_time_s;
}

constexpr const char* one_way = R"(, "routing": "minimal")";

TEST(RoutedStep, PoliciesDifferAsTheyShould) {
    const double minimal = step_time(one_way), spray = step_time(R"(, "routing": "spray")"),
                 ecmp = step_time(R"(, "routing": "ecmp")"), adaptive = step_time(R"(, "routing": "adaptive")");
    EXPECT_NEAR(spray, minimal, 1e-6 * minimal) << "both are free of contention on a non-blocking tree";
    EXPECT_GT(ecmp, 1.01 * minimal) << "flows collide";
    EXPECT_LE(adaptive, ecmp);
    EXPECT_GE(adaptive, minimal * (1 - 1e-9));
    EXPECT_EQ(adaptive, step_time(R"(, "routing": "adaptive")")) << "deterministic";
    EXPECT_NE(ecmp, step_time(R"(, "routing": "ecmp", "routing_seed": 7)"));
}

TEST(RoutedStep, SprayingHelpsWhereStagesShareALeaf) {
    // 20 nodes a stage: both stages' rings leave their common leaf for the first node of another, over one spine.
    EXPECT_LT(step_time(R"(, "routing": "spray")", 20), 0.9 * step_time(one_way, 20));
}

TEST(RoutedStep, InfiniBandSpraysUnlessToldOtherwise) {
    EXPECT_EQ(step_time("", 20), step_time(R"(, "routing": "spray")", 20));
    EXPECT_NEAR(step_time("", 20), step_time("", 16), 0.02 * step_time("", 16)) << "whether stages fill their leaves";
}

/// A slow cable is none of those that one stands for.
TEST(RoutedStep, ASlowCableAboveTheLeavesCountsWhereverItIs) {
    const auto slowed = [](const char* cable) {
        const std::string slow = fmt::format(R"(, "perturbations": {{"slow_links": ["{} x 50"]}})", cable);
        return quick(two_stages("", 16, slow)).step_time_s;
    };
    EXPECT_GT(slowed("leaf 0 - spine 0"), 1.1 * step_time(""));
    EXPECT_NEAR(slowed("leaf 0 - spine 1"), slowed("leaf 0 - spine 0"), 1e-9 * step_time(""));
    EXPECT_NEAR(slowed("node 0 nic 0"), slowed("node 1 nic 0"), 0.2 * step_time(""));
}

/// By cables that stand for others, and by each of them.
TEST(RoutedStep, SprayedCablesCarryWhatAllOfThemCarry) {
    // Two leaves of twelve nodes a stage: all of them fill their four cables, so that none is left out as slack.
    const scenarios::Scenario scenario = two_stages(R"(, "oversubscription": 3)", 24);
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const calibrate::Predictor& predictor = profiles().find(scenario.profile);
    const RanStep few(scenario.plan, cluster, predictor), all(scenario.plan, cluster.with_every_link(), predictor);
    EXPECT_NEAR(few.seconds(), all.seconds(), 1e-9 * all.seconds());
    const auto bytes = [&](const RanStep& ran) {
        std::map<std::string, std::pair<double, std::uint32_t>> carried;
        for (const LinkLevel& level : link_levels(cluster, ran)) {
            auto& [sum, links] = carried[level.from + " - " + level.to];
            sum += level.bytes, links += level.links;
        }
        return carried;
    };
    const auto some = bytes(few), each = bytes(all);
    ASSERT_EQ(some.size(), each.size());
    EXPECT_TRUE(some.contains("leaf - spine"));
    for (const auto& [level, carried] : each) {
        EXPECT_NEAR(some.at(level).first, carried.first, 1e-9 * carried.first) << level;
        EXPECT_EQ(some.at(level).second, carried.second) << level;
    }
}

TEST(RoutedStep, AFailedSpineCosts) {
    const double sound = step_time(one_way);
    EXPECT_GT(step_time(R"(, "failed": ["spine 0"])"), 1.01 * sound);
    EXPECT_GE(step_time(R"(, "failed": ["leaf 0 - spine 0"])"), sound);
}

TEST(RoutedStep, SprayedMessagesPutTheirPartOnEveryPath) {
    const topology::Cluster cluster =
        topology::build({.preset = "dgx-a100", .nodes = 40, .switch_ports = 16, .routing = "spray"});
    const Network network(cluster, profiles().find("a100"));
    std::map<std::uint32_t, double> by_tier;
    std::map<std::uint32_t, int> links;
    for (const LinkUse& use : network.path(0, 160)) {
        const std::uint32_t tier = cluster.link(use.link).tier;
        by_tier[tier] += use.weight, links[tier] += 1;
    }
    EXPECT_NEAR(by_tier[1], 2, 1e-12) << "up and down";
    EXPECT_NEAR(by_tier[2], 2.0 / 8, 1e-12);
    EXPECT_EQ(links[2], 2) << "one of eight spines stands for all, up and down";
}

}  // namespace
}  // namespace orrery::sim
