#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "hardware/datasheets.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {
namespace {

using namespace hardware;

std::string kinds(const Cluster& cluster, GpuId from, GpuId to) {
    std::vector<std::string> steps;
    for (const LinkId id : cluster.route(from, to)) {
        const Link& link = cluster.link(id);
        steps.push_back(fmt::format("{}{}", name(link.kind), link.tier));
    }
    return join(steps, " ");
}

TEST(Route, IsEmptyToOneself) { EXPECT_TRUE(build({.preset = "dgx-a100"}).route(3, 3).empty()); }

TEST(Route, StaysOnNvlinkInsideANode) {
    EXPECT_EQ(kinds(build({.preset = "dgx-a100", .nodes = 2}), 9, 14), "nvlink0 nvlink0");
}

TEST(Route, TakesAsManySwitchesAsTheReferenceSays) {
    const Cluster pod = build({.preset = "superpod-a100", .nodes = 280});
    const auto gpu = [](std::uint32_t node, std::uint32_t local) { return node * 8 + local; };
    const std::string out = "pcie0 pcie0 nic1 ", in = "nic1 pcie0 pcie0", up = "fabric2 ", core = "fabric3 ";
    EXPECT_EQ(kinds(pod, gpu(0, 2), gpu(19, 2)), out + in) << "same unit, same rail: the leaf";
    EXPECT_EQ(kinds(pod, gpu(0, 2), gpu(20, 2)), out + up + up + in) << "next unit: the rail's spines";
    EXPECT_EQ(kinds(pod, gpu(0, 2), gpu(1, 3)), out + up + core + core + up + in) << "another rail: the core";
    EXPECT_EQ(kinds(pod, gpu(0, 2), gpu(140, 2)), out + up + core + core + up + in) << "another SuperPOD: the core";
}

TEST(Route, CrossesRailsInTheSpineOfATwoTierFabric) {
    const Cluster pod = build({.preset = "superpod-h100", .nodes = 128});
    EXPECT_EQ(kinds(pod, 0, 8 + 1), "pcie0 pcie0 nic1 fabric2 fabric2 nic1 pcie0 pcie0");
}

TEST(Route, UsesTheOnlySwitchOfASmallCluster) {
    const Cluster small = build({.preset = "dgx-h100", .nodes = 4});
    EXPECT_EQ(kinds(small, 0, 31), "pcie0 pcie0 nic1 nic1 pcie0 pcie0");
}

TEST(Route, IsChosenByTheDestination) {
    // From every other SuperPOD, whatever the source, a GPU is reached over one spine and one core switch.
    const Cluster pod = build({.preset = "superpod-a100", .nodes = 420});
    for (const GpuId to : {0u, 8u * 21 + 3, 8u * 139 + 7}) {
        std::set<LinkId> from_core, from_spine;
        for (GpuId from = 140 * 8; from < pod.gpus(); from += 13) {
            const auto route = pod.route(from, to);
            ASSERT_EQ(route.size(), 10u);
            from_core.insert(route[5]);
            from_spine.insert(route[6]);
        }
        EXPECT_EQ(from_core.size(), 1u) << to;
        EXPECT_EQ(from_spine.size(), 1u) << to;
    }
}

TEST(Route, RefusesGpusAndLinksThatAreNotThere) {
    const Cluster cluster = build({.preset = "dgx-h100", .nodes = 2});
    EXPECT_THROW(static_cast<void>(cluster.route(0, 16)), Error);
    EXPECT_THROW(static_cast<void>(cluster.route(16, 0)), Error);
    EXPECT_THROW(static_cast<void>(cluster.link(cluster.links())), Error);
}

TEST(Latency, OfNeighboursMatchesWhatIsPublished) {
    // NCCL's table (tuning.cc, hwLat, ring LL): 0.6 us over NVLink, 1.0 over PCIe, 2.7 over InfiniBand.
    const Cluster pod = build({.preset = "superpod-a100", .nodes = 20});
    EXPECT_NEAR(pod.latency_seconds(0, 1), 0.6e-6, 1e-12);
    EXPECT_NEAR(pod.latency_seconds(0, 8), 2.7e-6, 0.2e-6);
    EXPECT_NEAR(build({.preset = "pcie-l40s", .nodes = 1}).latency_seconds(0, 1), 1.0e-6, 1e-12);
}

TEST(Latency, GrowsByTwoSwitchesATier) {
    const Cluster pod = build({.preset = "superpod-a100", .nodes = 280});
    const double leaf = pod.latency_seconds(0, 8), spine = pod.latency_seconds(0, 20 * 8);
    const double core = pod.latency_seconds(0, 140 * 8);
    EXPECT_GT(spine - leaf, 2 * switch_hdr.seconds);
    EXPECT_GT(core - spine, 2 * switch_hdr.seconds);
    EXPECT_LT(core, 5e-6);
}

TEST(Rates, AreThoseOfTheDatasheets) {
    const Cluster a100 = build({.preset = "superpod-a100", .nodes = 20});
    EXPECT_DOUBLE_EQ(a100.nic_bytes_per_second(), 25e9);
    EXPECT_DOUBLE_EQ(a100.intra_node_bytes_per_second(), 300e9);
    EXPECT_EQ(a100.nics_per_node(), 8u);
    EXPECT_DOUBLE_EQ(build({.preset = "dgx-a100", .nodes = 1}).nic_bytes_per_second(), 0);
    EXPECT_DOUBLE_EQ(build({.preset = "hgx-b200", .nodes = 2}).intra_node_bytes_per_second(), 900e9);
}

}  // namespace
}  // namespace orrery::topology
