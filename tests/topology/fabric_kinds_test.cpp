// Every kind of fabric on small instances: routes against a search of the graph, counts against the literature.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "tests/topology/walk.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {
namespace {

constexpr double rate = 12.5e9;  // of the NICs of "ethernet", and so of every cable

/// One NIC a node on this fabric.
ClusterSpec spec(const FabricSpec& fabric, std::uint32_t nodes = 0, std::uint32_t switch_ports = 0) {
    return {.preset = "ethernet",
            .nodes = nodes,
            .gpu = "A100",
            .gpus_per_node = 1,
            .nics_per_node = 1,
            .switch_ports = switch_ports,
            .fabric = fabric};
}

/// The largest number of routers (links, for chips) between two nodes.
std::size_t diameter(const Cluster& cluster) { return cluster.fabric().node_pairs_by_hops().size() - 1; }

/// Links that leave each router for other routers: fewest and most.
std::pair<std::uint32_t, std::uint32_t> degrees(const Fabric& fabric) {
    std::vector<std::uint32_t> degree(fabric.routers(), 0);
    for (std::uint32_t id = 0; id < fabric.trunks(); ++id) degree[fabric.trunk(id).from] += fabric.trunk(id).cables;
    const auto [least, most] = std::ranges::minmax(degree);
    return {least, most};
}

struct Case {
    const char* name;
    ClusterSpec spec;
    std::uint32_t nodes;
    std::size_t diameter;  ///< most routers between two nodes; links for chips
    double bisection;      ///< cables, one direction
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all = {
        {"4-ary fat-tree", spec({.kind = "k-ary-fat-tree"}, 0, 4), 16, 5, 8},
        {"8-ary fat-tree", spec({.kind = "k-ary-fat-tree"}, 0, 8), 128, 5, 64},
        {"xgft 3:1", spec({.kind = "xgft", .shape = "6x4", .parents = "1x2"}), 24, 3, 4},
        {"xgft of four levels", spec({.kind = "xgft", .shape = "3x2x2x4", .parents = "1x2x3x2"}), 48, 7, 16},
        {"2-D torus", spec({.kind = "torus", .shape = "4x6", .terminals = 1}), 24, 1 + 2 + 3, 8},
        {"3-D torus", spec({.kind = "torus", .shape = "4x4x8", .terminals = 1}), 128, 1 + 2 + 2 + 4, 32},
        {"torus of odd sizes", spec({.kind = "torus", .shape = "3x2x5x1"}), 30, 1 + 1 + 1 + 2, 12},
        {"two ports a router", spec({.kind = "torus", .shape = "5x4", .terminals = 2}), 40, 1 + 2 + 2, 8},
        {"tofu", spec({.kind = "tofu", .shape = "3x2x4"}), 288, 1 + (1 + 1 + 1) + (1 + 1 + 2), 144},
        {"dragonfly, balanced", spec({.kind = "dragonfly", .terminals = 2, .routers = 4, .global_links = 2}), 72, 4,
         20},
        {"dragonfly of few groups",
         spec({.kind = "dragonfly", .terminals = 2, .routers = 4, .global_links = 2, .groups = 4}), 32, 4, 8},
        {"one group", spec({.kind = "dragonfly", .terminals = 2, .routers = 4, .groups = 1}), 8, 2, 4},
        {"dragonfly+", spec({.kind = "dragonfly-plus", .terminals = 2, .routers = 3, .spines = 2, .global_links = 2}),
         30, 4, 6},
        {"dragonfly+ of few groups",
         spec({.kind = "dragonfly-plus", .terminals = 4, .routers = 4, .global_links = 3, .groups = 4}), 64, 4, 16},
        {"hyperx", spec({.kind = "hyperx", .shape = "4x3", .terminals = 2}), 24, 3, 8},
        {"hyperx of three dimensions", spec({.kind = "hyperx", .shape = "2x4x6"}), 48, 4, 24},
        {"full mesh", spec({.kind = "full-mesh", .shape = "7"}), 7, 2, 12},
        {"star", spec({.kind = "star"}, 9), 9, 1, 4},
        {"rail-only", spec({.kind = "rail-only"}, 40), 40, 1, 20},
        {"rail-only with spines", spec({.kind = "rail-only"}, 40, 8), 40, 5, 20},
        {"tpu-v3", {.preset = "tpu-v3", .nodes = 16}, 16, 4, 8},
        {"tpu-v4", {.preset = "tpu-v4", .nodes = 64}, 64, 6, 32},
        {"tpu-v5e", {.preset = "tpu-v5e"}, 256, 16, 32},
        {"tpu-v5p", {.preset = "tpu-v5p", .nodes = 128}, 128, 8, 32},
        {"tpu-v6e", {.preset = "tpu-v6e"}, 256, 16, 32},
        {"tpu7x", {.preset = "tpu7x", .nodes = 128}, 128, 8, 32},
    };
    return all;
}

TEST(FabricKinds, HaveTheSizeDiameterAndBisectionOfTheLiterature) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Cluster cluster = build(c.spec);
        const Fabric& fabric = cluster.fabric();
        EXPECT_EQ(cluster.nodes(), c.nodes);
        EXPECT_EQ(diameter(cluster), c.diameter);
        EXPECT_DOUBLE_EQ(fabric.bisection_bytes_per_second(), c.bisection * fabric.parts().trunk_bytes_per_second);
        std::uint64_t pairs = 0;
        for (const std::uint64_t count : fabric.node_pairs_by_hops()) pairs += count;
        EXPECT_EQ(pairs, std::uint64_t{c.nodes} * (c.nodes - 1));
    }
}

TEST(FabricKinds, RoutesAreConnectedAndMinimal) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Cluster cluster = build(c.spec);
        const Walker walker(cluster);
        for (GpuId from = 0; from < cluster.gpus(); from += 1 + cluster.gpus() / 12) {
            for (GpuId to = 0; to < cluster.gpus(); to += 1 + cluster.gpus() / 40) {
                if (from == to) continue;
                walker.expect_connected(from, to);
                // A dragonfly's minimal route takes one global link, also where two would save both local ones.
                const std::uint32_t spare = c.spec.fabric.kind == "dragonfly" ? 1 : 0;
                EXPECT_LE(walker.fabric_links(from, to), walker.fewest_fabric_links(from, to) + spare)
                    << from << " to " << to;
            }
        }
    }
}

TEST(FabricKinds, EveryPathIsAnotherRouteOfTheSameLength) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Cluster cluster = build(c.spec);
        const Fabric& fabric = cluster.fabric();
        for (std::uint32_t node = 1; node < cluster.nodes(); node += 1 + cluster.nodes() / 15) {
            const Port from{0, 0}, to{node, 0};
            const std::uint32_t paths = fabric.paths(from, to);
            ASSERT_LT(fabric.usual_path(from, to), paths);
            std::set<std::vector<std::uint32_t>> routes;
            for (std::uint32_t path = 0; path < paths; ++path) {
                std::vector<std::uint32_t> route;
                fabric.route(from, to, path, route);
                for (std::size_t i = 1; i < route.size(); ++i) {
                    ASSERT_EQ(fabric.ends(route[i - 1]).to, fabric.ends(route[i]).from) << node << " by " << path;
                }
                EXPECT_EQ(fabric.ends(route.back()).to, fabric.parts().on_chip ? node : fabric.port(to));
                routes.insert(route);
                EXPECT_EQ(route.size(), routes.begin()->size());
            }
            EXPECT_EQ(routes.size(), paths) << node;
        }
    }
}

TEST(FabricKinds, EveryLinkHasOneBack) {
    for (const Case& c : cases()) {
        SCOPED_TRACE(c.name);
        const Cluster cluster = build(c.spec);
        const Fabric& fabric = cluster.fabric();
        std::multiset<std::pair<std::uint32_t, std::uint32_t>> there, back;
        for (std::uint32_t id = 0; id < fabric.links(); ++id) {
            const auto [from, to] = fabric.ends(id);
            ASSERT_NE(from, to);
            there.emplace(from, to);
            back.emplace(to, from);
            EXPECT_GT(fabric.link(id).bytes_per_second, 0);
        }
        EXPECT_EQ(there, back);
    }
}

TEST(FabricKinds, RoutersHaveTheDegreeOfTheLiterature) {
    const auto of = [](const FabricSpec& fabric, std::uint32_t ports = 0) {
        return degrees(build(spec(fabric, 0, ports)).fabric());
    };
    using Degrees = std::pair<std::uint32_t, std::uint32_t>;
    EXPECT_EQ(of({.kind = "torus", .shape = "4x4x4"}), Degrees(6, 6)) << "2 n";
    EXPECT_EQ(of({.kind = "tofu", .shape = "3x3x3"}), Degrees(10, 10)) << "ten links a node";
    EXPECT_EQ(of({.kind = "hyperx", .shape = "4x5"}), Degrees(7, 7)) << "the sum of S - 1";
    EXPECT_EQ(of({.kind = "dragonfly", .terminals = 2, .routers = 4, .global_links = 2}), Degrees(5, 5)) << "a - 1 + h";
    EXPECT_EQ(of({.kind = "full-mesh", .shape = "9"}), Degrees(8, 8));
    EXPECT_EQ(of({.kind = "k-ary-fat-tree"}, 8), Degrees(4, 8)) << "an edge switch gives half its ports to nodes";
}

TEST(FabricKinds, AFatTreeHasTheCountsOfAlFares) {
    // k = 8: k^2 / 2 edge switches, as many aggregation switches, k^2 / 4 cores, k^3 / 4 cables a layer.
    const Properties p = properties(build(spec({.kind = "k-ary-fat-tree"}, 0, 8)));
    EXPECT_EQ(p.switches_by_tier, (std::vector<std::uint32_t>{32, 32, 16}));
    EXPECT_EQ(p.cables_by_tier, (std::vector<std::uint32_t>{128, 128, 128}));
    EXPECT_EQ(p.max_ports_by_tier, (std::vector<std::uint32_t>{8, 8, 8}));
    const Cluster cluster = build(spec({.kind = "k-ary-fat-tree"}, 0, 8));
    EXPECT_EQ(cluster.fabric().paths({0, 0}, {127, 0}), 16u) << "k^2 / 4 between pods";
}

TEST(FabricKinds, TheKComputerHasItsPublishedSize) {
    const Cluster k = build(spec({.kind = "tofu", .shape = "24x18x16"}));
    EXPECT_EQ(k.nodes(), 82944u) << "Ajima et al. 2009";
}

TEST(FabricKinds, TpuPodsHaveTheirPublishedSizes) {
    const Cluster v4 = build({.preset = "tpu-v4"});
    EXPECT_EQ(v4.nodes(), 4096u);
    EXPECT_EQ(v4.fabric().trunks(), 4096u * 6);
    EXPECT_DOUBLE_EQ(v4.fabric().bisection_bytes_per_second(), 2 * 16 * 16 * 50e9);
    EXPECT_EQ(v4.route(0, 1).size(), 1u) << "neighbours are one link apart";
    EXPECT_EQ(v4.route(0, 4095).size(), 3u) << "around the end in all three dimensions";
    const Cluster v3 = build({.preset = "tpu-v3"});
    EXPECT_EQ(v3.nodes(), 1024u);
    EXPECT_EQ(v3.fabric().trunks(), 1024u * 4);
    const Cluster v5e = build({.preset = "tpu-v5e"});
    EXPECT_DOUBLE_EQ(v5e.fabric().bisection_bytes_per_second(), 1.6e12) << "Google Cloud documentation, TPU v5e";
    EXPECT_EQ(build({.preset = "tpu-v5p"}).nodes(), 8960u);
    const Cluster v6e = build({.preset = "tpu-v6e"});
    EXPECT_DOUBLE_EQ(v6e.fabric().bisection_bytes_per_second(), 3.2e12) << "Google Cloud documentation, TPU v6e";
    EXPECT_EQ(build({.preset = "tpu7x"}).nodes(), 9216u);
}

/// A slice's routes are its torus's; what leaves it crosses both chips' ways to their hosts, the hosts' cables and
/// nothing of either torus.
TEST(FabricKinds, SlicesMeetAtTheirHosts) {
    const Cluster one = build({.preset = "tpu-v5p", .fabric = {.kind = "torus", .shape = "4x4x8"}});
    const Cluster two = build({.preset = "tpu-v5p", .fabric = {.kind = "multislice", .shape = "4x4x8", .groups = 3}});
    ASSERT_EQ(two.nodes(), 3u * 128);
    for (const GpuId from : {0u, 17u, 90u})
        for (const GpuId to : {1u, 64u, 127u}) {
            const auto own = one.route(from, to);
            auto behind = two.route(128 + from, 128 + to);
            for (LinkId& link : behind) link -= one.fabric().trunks();
            EXPECT_EQ(two.route(from, to), own);
            EXPECT_EQ(behind, own) << from << " to " << to;
        }
    const auto across = two.route(5, 300);
    ASSERT_EQ(across.size(), 4u);
    EXPECT_DOUBLE_EQ(two.link(across[0]).bytes_per_second, 15e9) << "chip to host";
    EXPECT_DOUBLE_EQ(two.link(across[1]).bytes_per_second, 25e9) << "host to core";
    EXPECT_EQ(two.route(6, 300)[1], across[1]) << "chips 4 to 7 share a host";
    EXPECT_NE(two.route(8, 300)[1], across[1]);
    EXPECT_DOUBLE_EQ(two.fabric().bisection_bytes_per_second(), 3 * 128 / 4 / 2 * 25e9);
}

TEST(FabricKinds, RailsMeetInsideNodesOnly) {
    const Cluster cluster = build({.preset = "dgx-h100", .nodes = 16, .fabric = {.kind = "rail-only"}});
    EXPECT_EQ(properties(cluster).switches_by_tier, std::vector<std::uint32_t>{8});
    const auto tiers = [&](GpuId from, GpuId to) {
        std::vector<std::uint32_t> result;
        for (const LinkId id : cluster.route(from, to)) result.push_back(cluster.link(id).tier);
        return result;
    };
    EXPECT_EQ(tiers(0, 8), (std::vector<std::uint32_t>{0, 0, 1, 1, 0, 0})) << "same rail";
    EXPECT_EQ(tiers(0, 9), (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 0, 0})) << "over NVLink to rail 1 first";
    const Walker walker(cluster);
    for (GpuId to = 8; to < cluster.gpus(); to += 5) walker.expect_connected(3, to);
}

TEST(FabricKinds, NodesOfTwoKindsShareAFabric) {
    const Cluster cluster = build({.preset = "dgx-1v", .nodes = 6, .more_nodes = {"2 x P100"}});
    EXPECT_EQ(cluster.nodes(), 8u);
    EXPECT_EQ(cluster.gpu_of(0).name, "V100-SXM2-32GB");
    EXPECT_EQ(cluster.gpu_of(47).name, "V100-SXM2-32GB");
    EXPECT_EQ(cluster.gpu_of(48).name, "P100-SXM2-16GB");
    const Walker walker(cluster);
    for (GpuId from = 0; from < cluster.gpus(); from += 3) {
        for (GpuId to = 0; to < cluster.gpus(); to += 5) walker.expect_connected(from, to);
    }
    EXPECT_DOUBLE_EQ(cluster.link(cluster.route(48, 51).front()).bytes_per_second, 20e9)
        << "NVLink 1 inside P100 nodes";
}

struct Bad {
    ClusterSpec spec;
    const char *pointer, *hint;  ///< hint: a part of it
};

TEST(FabricKinds, RefuseBadParametersWithPlaceAndRemedy) {
    const Bad bads[] = {
        {spec({.kind = "torsu"}), "/cluster/fabric", "torus"},
        {spec({.kind = "torus", .shape = "4x"}), "/cluster/shape", "4x4x8"},
        {spec({.kind = "torus", .shape = "0x4"}), "/cluster/shape", "4x4x8"},
        {spec({.kind = "torus", .shape = "4x4x4x4x4x4x4x4x4"}), "/cluster/shape", "at most 8"},
        {spec({.kind = "torus", .shape = "65536x65536"}), "/cluster/shape", "smaller"},
        {spec({.kind = "torus", .shape = "4x4"}, 17), "/cluster/nodes", "16"},
        {spec({.kind = "torus", .groups = 3}), "/cluster/groups", "shape, terminals"},
        {spec({.kind = "star", .shape = "4"}), "/cluster/shape", "leave"},
        {spec({.shape = "4x4"}), "/cluster/shape", "name it"},
        {spec({.link_bytes_per_second = 1e9}), "/cluster/link_rate", "name it"},
        {spec({.kind = "tofu", .shape = "4x4"}), "/cluster/shape", "24x18x16"},
        {spec({.kind = "dragonfly", .terminals = 1, .routers = 2, .global_links = 1, .groups = 4}), "/cluster/groups",
         "3 groups"},
        {spec({.kind = "dragonfly", .terminals = 1, .routers = 2, .global_links = 1}, 100), "/cluster/nodes",
         "3 groups"},
        {spec({.kind = "xgft", .shape = "4x4"}), "/cluster/parents", "parents"},
        {spec({.kind = "xgft", .shape = "4x4", .parents = "2x2"}), "/cluster/parents", "beginning with 1"},
        {spec({.kind = "xgft", .shape = "512x512", .parents = "1x65536"}), "/cluster/parents", "fewer"},
        {spec({.kind = "k-ary-fat-tree"}, 0, 5), "/cluster/switch_ports", "4, 6"},
        {{.preset = "superpod-h100", .fabric = {.kind = "torus"}}, "/cluster/fabric", "dgx-h100"},
        {{.preset = "tpu-v4", .fabric = {.kind = "star"}}, "/cluster/fabric", "torus"},
        {{.preset = "tpu-v4", .gpu = "A100"}, "/cluster/gpu", "TPU-v4"},
        {{.preset = "tpu-v4", .nodes = 63, .fabric = {.kind = "torus", .shape = "4x4x4"}}, "/cluster/nodes", "shape"},
        {{.preset = "tpu-v4", .gpus_per_node = 4}, "/cluster/gpus_per_node", "leave it out"},
        {{.preset = "tpu-v4", .gpu = "TPU-v5e"}, "/cluster/gpu", "TPU-v4"},
        {spec({.kind = "multislice", .groups = 2}), "/cluster/fabric", "tpu-v4"},
        {{.preset = "tpu-v4", .nodes = 65, .fabric = {.kind = "multislice"}}, "/cluster/nodes", "groups the slices"},
        {{.preset = "tpu-v4", .nodes = 64, .fabric = {.kind = "multislice", .shape = "4x4x4", .groups = 2}},
         "/cluster/nodes",
         "128 nodes"},
        {{.preset = "dgx-1v", .more_nodes = {"P100"}}, "/cluster/more_nodes/0", "4 x P100"},
        {{.preset = "dgx-1v", .more_nodes = {"2 x P100", "2 x P101"}}, "/cluster/more_nodes/1", "P100"},
        {{.preset = "dgx-1v", .more_nodes = {"2 x TPU-v4"}}, "/cluster/more_nodes/0", "orrery list"},
        {{.preset = "dgx-2", .more_nodes = {"2 x P100"}}, "/cluster/more_nodes/0", "gpus_per_node"},
        {{.preset = "superpod-a100", .more_nodes = {"2 x V100"}}, "/cluster/more_nodes/0", "ethernet"},
    };
    for (const Bad& bad : bads) {
        SCOPED_TRACE(bad.spec.preset + " " + bad.spec.fabric.kind + " " + bad.pointer + " " + bad.spec.fabric.shape);
        try {
            build(bad.spec);
            ADD_FAILURE() << "accepted";
        } catch (const Error& e) {
            EXPECT_EQ(e.pointer(), bad.pointer) << e.what();
            EXPECT_NE(e.hint().find(bad.hint), std::string::npos) << e.what();
        }
    }
}

}  // namespace
}  // namespace orrery::topology
