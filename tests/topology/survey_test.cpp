// What `orrery topology` says of a cluster, and the maximum flow behind it.
#include "topology/survey.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>

#include "topology/cable_list.hpp"
#include "topology/catalog.hpp"
#include "topology/max_flow.hpp"

namespace orrery::topology {
namespace {

TEST(MaxFlow, EqualsTheLeastCut) {
    constexpr std::uint32_t vertices = 7;
    std::mt19937_64 random(9);
    for (int round = 0; round < 200; ++round) {
        SCOPED_TRACE("seed 9, round " + std::to_string(round));
        std::int64_t capacity[vertices][vertices] = {};
        MaxFlow net(vertices);
        for (int k = 0; k < 12; ++k) {
            const auto a = static_cast<std::uint32_t>(random() % vertices);
            const auto b = static_cast<std::uint32_t>(random() % vertices);
            const auto there = static_cast<std::int64_t>(random() % 20), back = static_cast<std::int64_t>(random() % 5);
            if (a == b) continue;
            net.join(a, b, there, back);
            capacity[a][b] += there, capacity[b][a] += back;
        }
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::uint32_t side = 0; side < 1U << vertices; ++side) {
            if ((side & 1U) == 0 || (side >> (vertices - 1) & 1U) != 0) continue;
            std::int64_t cut = 0;
            for (std::uint32_t a = 0; a < vertices; ++a) {
                for (std::uint32_t b = 0; b < vertices; ++b) {
                    if ((side >> a & 1U) != 0 && (side >> b & 1U) == 0) cut += capacity[a][b];
                }
            }
            least = std::min(least, cut);
        }
        EXPECT_EQ(net.run(0, vertices - 1), least);
    }
}

TEST(Survey, CountsASuperPod) {
    // RA-11333-001, table 3: 127 nodes, 32 leaves, 16 spines; 1,016 node and 1,024 leaf-spine cables, as built.
    const Survey s = survey(build({.preset = "superpod-h100"}));
    ASSERT_EQ(s.switches.size(), 2u);
    EXPECT_EQ(s.switches[0].name, "leaf");
    EXPECT_EQ(s.switches[0].count, 32u);
    EXPECT_EQ(s.switches[1].count, 16u);
    EXPECT_EQ(s.switches[0].ports_offered, 64u);
    ASSERT_EQ(s.cables.size(), 2u);
    EXPECT_EQ(s.cables[0].name, "node - leaf");
    EXPECT_EQ(s.cables[0].count, 127u * 8);
    EXPECT_DOUBLE_EQ(s.cables[0].bytes_per_second, 50e9);
    EXPECT_DOUBLE_EQ(s.injection_bytes_per_second, 63 * 8 * 50e9);
    EXPECT_EQ(s.diameter(), 3u);
    EXPECT_FALSE(s.sampled);
    EXPECT_LT(s.nearest_seconds, s.farthest_seconds);
    EXPECT_TRUE(s.sound());
    std::uint64_t pairs = 0;
    for (const Survey::Hops& hops : s.hops) pairs += hops.node_pairs;
    EXPECT_EQ(pairs, 127u * 126);
}

TEST(Survey, OversubscriptionIsWhatWasAskedFor) {
    // Four full leaves of 64 ports, so that the halves part between leaves.
    for (const double ratio : {1.0, 3.0, 7.0}) {
        const auto nodes = static_cast<std::uint32_t>(4 * (64 - 64 / (ratio + 1)));
        const Survey s =
            survey(build({.preset = "ethernet", .nodes = nodes, .gpus_per_node = 1, .oversubscription = ratio}));
        EXPECT_NEAR(s.oversubscription, ratio, 1e-9);
    }
}

TEST(Survey, ShowsTheRangeOfUnequalCables) {
    std::shared_ptr<const Fabric> fabric = parse_cable_list(
        "node0, leaf, 100 Gb/s, 1 us\nnode1, leaf, 200 Gb/s, 2 us\n", "cables", {.nodes = 0, .nics_per_node = 1});
    const Cluster like = build({.preset = "ethernet", .nodes = 2, .gpus_per_node = 1, .nics_per_node = 1});
    const Survey s = survey(Cluster("two", like.groups(), fabric));
    ASSERT_EQ(s.cables.size(), 1u);
    EXPECT_DOUBLE_EQ(s.cables[0].bytes_per_second, 12.5e9);
    EXPECT_DOUBLE_EQ(s.cables[0].fastest_bytes_per_second, 25e9);
    EXPECT_DOUBLE_EQ(s.cables[0].latency_seconds, 1e-6);
    EXPECT_DOUBLE_EQ(s.cables[0].longest_seconds, 2e-6);
    EXPECT_DOUBLE_EQ(s.injection_bytes_per_second, 12.5e9) << "of node 0";
}

TEST(Survey, FailuresTakeTheirPartOfTheBisection) {
    ClusterSpec spec{.preset = "tpu-v3", .nodes = 64};
    const Survey sound = survey(build(spec));
    spec.failed = {"router 24 - router 32"};  // 8 x 8: one of the 16 cables across the middle
    const Survey broken = survey(build(spec));
    EXPECT_DOUBLE_EQ(sound.bisection_bytes_per_second, 16 * 70e9);
    EXPECT_NEAR(broken.bisection_bytes_per_second, 15 * 70e9, 1e5);
    EXPECT_EQ(broken.failed_links, 2u);
    EXPECT_TRUE(broken.sound());
    EXPECT_FALSE(broken.bisection_intact);
}

/// Chips of two slices, their hosts and the core behind them.
TEST(Survey, FailuresOfSlicesAreOfChipsHostsAndTheCore) {
    ClusterSpec spec{.preset = "tpu-v5p", .nodes = 128, .fabric = {.kind = "multislice", .groups = 2}};
    const Survey sound = survey(build(spec));
    for (const char* failed : {"host 3", "chip 4 - chip 5", "host 31 - core 0", "link 17"}) {
        SCOPED_TRACE(failed);
        spec.failed = {failed};
        const Survey broken = survey(build(spec));
        EXPECT_GT(broken.failed_links, 0u);
        EXPECT_GT(broken.bisection_bytes_per_second, 0);
        EXPECT_LE(broken.bisection_bytes_per_second, sound.bisection_bytes_per_second);
        EXPECT_TRUE(broken.sound());
    }
    spec.failed = {"host 32"};
    EXPECT_THROW((void)build(spec), Error);
}

TEST(Survey, WarnsOfSwitchesThatNobodySells) {
    const Survey s = survey(build({.preset = "dgx-a100", .nodes = 20, .fabric = {.kind = "star"}}));
    EXPECT_FALSE(s.sound()) << "160 ports";
    EXPECT_TRUE(survey(build({.preset = "dgx-a100", .nodes = 4, .fabric = {.kind = "star"}})).sound());
}

TEST(Survey, OfSlicesNamesTheirHosts) {
    const Survey s =
        survey(build({.preset = "tpu-v5p", .fabric = {.kind = "multislice", .shape = "4x4x4", .groups = 2}}));
    ASSERT_EQ(s.switches.size(), 3u);
    EXPECT_EQ(s.switches[0].name, "chip");
    EXPECT_EQ(s.switches[1].name, "host");
    EXPECT_EQ(s.switches[1].count, 32u);
    EXPECT_EQ(s.switches[2].name, "core");
    std::set<std::string> cables;
    for (const Survey::Cables& each : s.cables) cables.insert(each.name);
    EXPECT_EQ(cables, (std::set<std::string>{"chip - host", "chip - chip", "host - core"}));
}

TEST(Survey, OfOneNodeIsEmpty) {
    const Survey s = survey(build({.preset = "dgx-a100", .nodes = 1}));
    EXPECT_TRUE(s.switches.empty());
    EXPECT_EQ(s.diameter(), 0u);
    EXPECT_TRUE(s.sound());
}

}  // namespace
}  // namespace orrery::topology
