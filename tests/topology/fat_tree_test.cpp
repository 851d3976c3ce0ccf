#include "topology/fat_tree.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "topology/catalog.hpp"
#include "topology/design.hpp"

namespace orrery::topology {
namespace {

TEST(FatTree, NeedsNoNetworkForOneNode) {
    const FatTree t = plan_fat_tree({.nodes = 1, .nics_per_node = 8, .planes = 8});
    EXPECT_EQ(t.tiers, 0u);
    EXPECT_EQ(t.leaves(), 0u);
}

TEST(FatTree, UsesOneSwitchAsLongAsAllNicsFit) {
    EXPECT_EQ(plan_fat_tree({.nodes = 8, .nics_per_node = 8, .planes = 8, .ports = 64}).tiers, 1u);
    const FatTree t = plan_fat_tree({.nodes = 9, .nics_per_node = 8, .planes = 8, .ports = 64});
    EXPECT_EQ(t.tiers, 2u);
    EXPECT_EQ(t.leaves(), 8u);
}

TEST(FatTree, ReachesTheTextbookLimitOfThreeTiers) {
    // ports^3 / 4 end points (Al-Fares et al., SIGCOMM 2008).
    EXPECT_EQ(max_nodes({.ports = 16}), 16u * 16 * 16 / 4);
    EXPECT_EQ(max_nodes({.ports = 64}), 64u * 64 * 64 / 4);
    EXPECT_EQ(max_nodes({.nics_per_node = 8, .planes = 8, .ports = 64}), 8192u);
}

TEST(FatTree, RefusesMoreNodesThanItsPortsCanJoin) {
    try {
        plan_fat_tree({.nodes = 8193, .nics_per_node = 8, .planes = 8, .ports = 64});
        FAIL() << "8,193 nodes were accepted";
    } catch (const Error& e) {
        EXPECT_EQ(e.pointer(), "/cluster/nodes");
        EXPECT_EQ(e.hint(), "nearest legal value: 8192");
    }
}

TEST(FatTree, RefusesBadRatiosAndLeavesTooSmallForANode) {
    for (const double ratio : {0.5, -1.0, 64.0, std::numeric_limits<double>::quiet_NaN()}) {
        EXPECT_THROW(plan_fat_tree({.nodes = 100, .ports = 64, .oversubscription = ratio}), Error) << ratio;
    }
    EXPECT_THROW(plan_fat_tree({.nodes = 100, .nics_per_node = 40, .planes = 1, .ports = 64}), Error);
    EXPECT_THROW(plan_fat_tree({.nodes = 100, .nics_per_node = 6, .planes = 4, .ports = 64}), Error);
}

TEST(FatTree, GivesFewerPortsUpWhenOversubscribed) {
    // 64 ports at 3 : 1 are 48 down and 16 up.
    const FatTree t = plan_fat_tree({.nodes = 96, .ports = 64, .oversubscription = 3});
    EXPECT_EQ(t.nodes_per_leaf, 48u);
    EXPECT_EQ(t.leaf_up, 16u);
    EXPECT_EQ(t.leaves(), 2u);
}

TEST(FatTree, BisectionShrinksWithOversubscription) {
    ClusterSpec spec{.preset = "ethernet", .nodes = 96, .oversubscription = 1};
    // 96 nodes with one NIC of 12.5 GB/s: 48 flows at full rate.
    EXPECT_DOUBLE_EQ(properties(build(spec)).bisection_bytes_per_second, 48 * 12.5e9);
    // At 3 : 1 two leaves of 48 nodes have 16 uplinks each.
    spec.oversubscription = 3;
    EXPECT_DOUBLE_EQ(properties(build(spec)).bisection_bytes_per_second, 16 * 12.5e9);
}

TEST(FatTree, EveryPresetHasEverySizeUpToItsLargest) {
    for (auto table : {superpod_designs(), rail_optimized_designs(), ethernet_designs()}) {
        for (const Design& design : table) {
            SCOPED_TRACE(design.preset.name);
            const std::uint32_t nics = design.nics == 0 ? find_node(design.node).nics : design.nics;
            EXPECT_LE(design.preset.default_nodes, design.preset.max_nodes);
            std::uint32_t cables = 0;
            for (std::uint32_t nodes = 2; nodes <= design.preset.max_nodes; ++nodes) {
                const FatTree t = plan_fat_tree(fabric_of(design, nodes, nics, 1));
                ASSERT_GE(t.rows * t.nodes_per_leaf, nodes);
                ASSERT_EQ(t.leaf_cables * t.spines_per_group, t.leaf_up);
                ASSERT_EQ(t.spine_cables * t.cores_per_group, t.spine_up);
                ASSERT_GE(t.leaves() * t.leaf_up, cables) << nodes << " nodes have fewer uplinks than fewer nodes";
                cables = t.leaves() * t.leaf_up;
            }
        }
    }
}

}  // namespace
}  // namespace orrery::topology
