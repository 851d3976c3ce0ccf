// The fabrics against the counts that NVIDIA publishes.
#include "topology/superpod.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {
namespace {

using Counts = std::vector<std::uint32_t>;

/// Switches and cables of one size, tier by tier.
struct Published {
    std::uint32_t nodes;
    Counts switches, cables;
};

void expect(const char* preset, const Published& size, std::uint32_t ports) {
    SCOPED_TRACE(std::string(preset) + " " + std::to_string(size.nodes));
    const Properties p = properties(build({.preset = preset, .nodes = size.nodes}));
    EXPECT_EQ(p.gpus, size.nodes * 8);
    EXPECT_EQ(p.switches_by_tier, size.switches);
    EXPECT_EQ(p.cables_by_tier, size.cables);
    for (const std::uint32_t used : p.max_ports_by_tier) EXPECT_LE(used, ports);
    EXPECT_EQ(p.max_ports_by_tier[0], ports) << "a full leaf uses every port, half of them up";
}

TEST(SuperPodA100, HasThePublishedSwitchesAndCables) {
    // RA-09950-001: 8 leaves a unit of 20 nodes; 80 spines and 28 cores at 140 nodes.
    expect("superpod-a100", {140, {56, 80, 28}, {1120, 1120, 1120}}, 40);
}

TEST(SuperPodA100, JoinsFewUnitsByTheirSpinesAlone) {
    // Not published: the fewest 40-port spines that divide 20 uplinks and reach every leaf.
    expect("superpod-a100", {20, {8, 4}, {160, 160}}, 40);
    expect("superpod-a100", {40, {16, 10}, {320, 320}}, 40);
    expect("superpod-a100", {80, {32, 20}, {640, 640}}, 40);
}

TEST(SuperPodA100, HasThePublishedPortsAt140Nodes) {
    // Leaf 20 + 20, spine 14 down + 14 up, core all 40.
    const Properties p = properties(build({.preset = "superpod-a100"}));
    EXPECT_EQ(p.nodes, 140u);
    EXPECT_EQ(p.max_ports_by_tier, (Counts{40, 28, 40}));
}

TEST(SuperPodA100, GrowsToFourSuperPods) {
    for (const std::uint32_t nodes : {280u, 560u}) {
        const Properties p = properties(build({.preset = "superpod-a100", .nodes = nodes}));
        EXPECT_EQ(p.switches_by_tier[0], nodes / 20 * 8);
        EXPECT_EQ(p.switches_by_tier[1], nodes / 140 * 80);
        for (const std::uint32_t used : p.max_ports_by_tier) EXPECT_LE(used, 40u);
        EXPECT_EQ(p.cables_by_tier, Counts(3, nodes * 8));
    }
    EXPECT_THROW(build({.preset = "superpod-a100", .nodes = 561}), Error);
}

TEST(SuperPodH100, HasThePublishedSwitchesAndCables) {
    // RA-11333-001, table 4, with the node that the fabric manager displaces.
    expect("superpod-h100", {32, {8, 4}, {256, 256}}, 64);
    expect("superpod-h100", {64, {16, 8}, {512, 512}}, 64);
    expect("superpod-h100", {96, {24, 16}, {768, 768}}, 64);
    expect("superpod-h100", {128, {32, 16}, {1024, 1024}}, 64);
    // The table of larger systems in the B200 edition of the reference architecture: same units, same switches.
    expect("superpod-h100", {256, {64, 32}, {2048, 2048}}, 64);
    expect("superpod-h100", {512, {128, 128, 64}, {4096, 4096, 4096}}, 64);
    expect("superpod-h100", {1024, {256, 256, 128}, {8192, 8192, 8192}}, 64);
    expect("superpod-h100", {2048, {512, 512, 256}, {16384, 16384, 16384}}, 64);
}

TEST(SuperPodH100, KeepsTheWholeUnitsOfASmallerSystem) {
    const Properties p = properties(build({.preset = "superpod-h100"}));
    EXPECT_EQ(p.nodes, 127u);
    EXPECT_EQ(p.switches_by_tier, (Counts{32, 16}));
    EXPECT_EQ(p.cables_by_tier, (Counts{1016, 1024}));
}

TEST(SuperPod, IsNonBlocking) {
    for (const auto& [preset, nodes, rate] : {std::tuple{"superpod-a100", 140u, 25e9},
                                              {"superpod-a100", 560u, 25e9},
                                              {"superpod-h100", 128u, 50e9},
                                              {"superpod-h100", 1024u, 50e9}}) {
        const Properties p = properties(build({.preset = preset, .nodes = nodes}));
        EXPECT_DOUBLE_EQ(p.bisection_bytes_per_second, nodes / 2 * 8 * rate) << preset << " " << nodes;
    }
}

TEST(SuperPod, PutsNodesOfAUnitOneSwitchApart) {
    // A100: a rail has its own spine group, so same-rail traffic never needs the core.
    const Properties a100 = properties(build({.preset = "superpod-a100"}));
    EXPECT_EQ(a100.node_pairs_by_switches,
              (std::vector<std::uint64_t>{0, 7 * 20 * 19, 0, 140 * 139 - 7 * 20 * 19, 0, 0}));
    // Two SuperPODs meet in the core.
    const Properties two = properties(build({.preset = "superpod-a100", .nodes = 280}));
    EXPECT_EQ(two.node_pairs_by_switches[5], 2u * 140 * 140);
}

TEST(SuperPod, RefusesWhatTheReferenceDoesNotHave) {
    EXPECT_THROW(build({.preset = "superpod-a100", .gpus_per_node = 4}), Error);
    EXPECT_THROW(build({.preset = "superpod-a100", .nics_per_node = 4}), Error);
    EXPECT_THROW(build({.preset = "superpod-a100", .nic_bytes_per_second = 50e9}), Error);
    EXPECT_THROW(build({.preset = "superpod-a100", .oversubscription = 2}), Error);
    EXPECT_THROW(build({.preset = "superpod-a100", .gpu = "H100"}), Error);
    EXPECT_NO_THROW(build({.preset = "superpod-a100",
                           .nodes = 20,
                           .gpu = "A100-40GB",
                           .gpus_per_node = 8,
                           .nics_per_node = 8,
                           .nic_bytes_per_second = 25e9,
                           .oversubscription = 1}));
}

}  // namespace
}  // namespace orrery::topology
