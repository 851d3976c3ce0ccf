// Random clusters of every preset: routes follow the graph, are minimal and alike both ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>

#include "base/error.hpp"
#include "tests/topology/walk.hpp"
#include "topology/catalog.hpp"
#include "topology/graph.hpp"

namespace orrery::topology {
namespace {

/// Ports of one switch, from its product brief.
const std::map<std::string, std::uint32_t> switch_ports = {
    {"superpod-a100", 40}, {"superpod-h100", 64}, {"dgx-1v", 36},       {"dgx-2", 36},
    {"dgx-a100", 40},      {"dgx-h100", 64},      {"hgx-h100", 128},    {"hgx-h200", 128},
    {"hgx-b200", 128},     {"gb200-nvl72", 64},   {"gb300-nvl72", 144}, {"hgx-a100-4", 40},
    {"hgx-h100-4", 64},    {"hgx-h200-4", 64},    {"gh200-4", 64},      {"v100-4", 48},
    {"ethernet", 64},      {"efa", 64},           {"cpu-hosts", 64},    {"pcie-l40s", 64},
    {"superpod-b200", 64}, {"superpod-h200", 64}, {"dgx-h200", 64},     {"pcie-rtx-pro-6000", 64},
    {"frontier", 64},      {"mi300x", 128},       {"mi325x", 128},      {"mi355x", 128},
};

class RandomCluster : public testing::TestWithParam<std::uint64_t> {
protected:
    std::mt19937_64 random{GetParam()};
    std::uint32_t upto(std::uint32_t most) { return std::uniform_int_distribution<std::uint32_t>(1, most)(random); }

    ClusterSpec any_spec() {
        // Chips in a torus are tested with the other kinds of fabric (fabric_kinds_test.cpp).
        std::vector<Preset> all;
        std::ranges::copy_if(presets(), std::back_inserter(all),
                             [](const Preset& p) { return !p.name.starts_with("tpu"); });
        const Preset preset = all[upto(static_cast<std::uint32_t>(all.size())) - 1];
        // Small sizes often, large ones at times.
        return {.preset = std::string(preset.name), .nodes = upto(std::min(preset.max_nodes, 1U << upto(10)))};
    }
};

TEST_P(RandomCluster, RoutesAreConnectedMinimalAndAlikeBothWays) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    const ClusterSpec spec = any_spec();
    SCOPED_TRACE(spec.preset + " " + std::to_string(spec.nodes));
    const Cluster cluster = build(spec);
    const Walker walker(cluster);
    for (int i = 0; i < 200; ++i) {
        const GpuId from = upto(cluster.gpus()) - 1, to = upto(cluster.gpus()) - 1;
        walker.expect_connected(from, to);
        const auto route = cluster.route(from, to);
        EXPECT_EQ(route, cluster.route(from, to));
        EXPECT_EQ(route.size(), cluster.route(to, from).size());
        EXPECT_NEAR(cluster.latency_seconds(from, to), cluster.latency_seconds(to, from), 1e-15);
        if (i < 5 && cluster.node_of(from) != cluster.node_of(to)) {
            EXPECT_EQ(walker.fabric_links(from, to), walker.fewest_fabric_links(from, to)) << from << " to " << to;
        }
        for (const LinkId id : route) EXPECT_GT(cluster.link(id).bytes_per_second, 0);
    }
}

TEST_P(RandomCluster, SwitchesNeverHaveMorePortsThanExist) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    const ClusterSpec spec = any_spec();
    SCOPED_TRACE(spec.preset + " " + std::to_string(spec.nodes));
    const Cluster cluster = build(spec);
    const Properties p = properties(cluster);
    for (const std::uint32_t ports : p.max_ports_by_tier) EXPECT_LE(ports, switch_ports.at(spec.preset));
    if (spec.nodes == 1) return;
    EXPECT_EQ(p.cables_by_tier[0], spec.nodes * cluster.nics_per_node());
    std::uint64_t pairs = 0;
    for (const std::uint64_t n : p.node_pairs_by_switches) pairs += n;
    EXPECT_EQ(pairs, std::uint64_t{spec.nodes} * (spec.nodes - 1));
    // Non-blocking: half the nodes send at full rate to the other half.
    EXPECT_DOUBLE_EQ(p.bisection_bytes_per_second,
                     spec.nodes / 2 * cluster.nics_per_node() * cluster.nic_bytes_per_second());
}

TEST_P(RandomCluster, PairCountsAgreeWithRoutes) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    ClusterSpec spec = any_spec();
    spec.nodes = std::min(spec.nodes, 150U);
    SCOPED_TRACE(spec.preset + " " + std::to_string(spec.nodes));
    const Cluster cluster = build(spec);
    std::vector<std::uint64_t> counted(properties(cluster).node_pairs_by_switches.size(), 0);
    for (std::uint32_t a = 0; a < spec.nodes; ++a) {
        for (std::uint32_t b = 0; b < spec.nodes; ++b) {
            if (a == b) continue;
            std::uint32_t outside = 0;
            for (const LinkId id : cluster.route(a * cluster.gpus_per_node(), b * cluster.gpus_per_node())) {
                outside += cluster.link(id).tier > 0 ? 1 : 0;
            }
            ++counted.at(outside - 1);
        }
    }
    EXPECT_EQ(properties(cluster).node_pairs_by_switches, counted);
}

TEST_P(RandomCluster, OverridesAreAppliedOrRefusedWithAPlace) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    ClusterSpec spec = any_spec();
    spec.nodes = upto(64);
    if (upto(2) == 1) spec.gpus_per_node = upto(20);
    if (upto(2) == 1) spec.nics_per_node = upto(20);
    if (upto(2) == 1) spec.nic_bytes_per_second = 1e9 * upto(100);
    if (upto(2) == 1) spec.oversubscription = 0.5 * upto(10);
    if (upto(2) == 1) spec.gpu = hardware::gpus()[upto(static_cast<std::uint32_t>(hardware::gpus().size())) - 1].name;
    SCOPED_TRACE(spec.preset + " " + std::to_string(spec.nodes));
    try {
        const Cluster cluster = build(spec);
        EXPECT_EQ(cluster.nodes(), spec.nodes);
        if (spec.gpus_per_node != 0) {
            EXPECT_EQ(cluster.gpus_per_node(), spec.gpus_per_node);
        }
        if (spec.nics_per_node != 0) {
            EXPECT_EQ(cluster.nics_per_node(), spec.nics_per_node);
        }
        if (spec.nic_bytes_per_second != 0 && spec.nodes > 1) {
            EXPECT_EQ(cluster.nic_bytes_per_second(), spec.nic_bytes_per_second);
        }
        const Walker walker(cluster);
        for (int i = 0; i < 20; ++i) walker.expect_connected(upto(cluster.gpus()) - 1, upto(cluster.gpus()) - 1);
    } catch (const Error& e) {
        EXPECT_TRUE(e.pointer().starts_with("/cluster/")) << e.what();
        EXPECT_FALSE(e.hint().empty()) << e.what();
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomCluster, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace orrery::topology
