// Names of links are those by which /cluster/failed knows them.
#include "topology/link_name.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {
namespace {

TEST(LinkName, IsKnownToFailures) {
    ClusterSpec tree, torus, rails, slices;
    tree.preset = rails.preset = "dgx-a100";
    tree.nodes = 8;
    rails.nodes = 3;
    torus.preset = "tpu-v4";
    torus.nodes = 64;
    slices.preset = "tpu-v5p";
    slices.nodes = 128;
    slices.fabric.kind = "multislice";
    slices.fabric.groups = 2;
    for (const ClusterSpec& spec : {tree, rails, torus, slices}) {
        const Cluster cluster = build(spec);
        const std::uint32_t links = cluster.fabric().links();
        for (std::uint32_t id = 0; id < links; id += 7) {
            std::string name = link_name(cluster, cluster.first_fabric_link() + id);
            SCOPED_TRACE(name);
            const std::size_t to = name.find(" to ");
            ASSERT_NE(to, std::string::npos);
            const Failures failed(cluster.shared_fabric(), {name.replace(to, 4, " - ")});
            EXPECT_TRUE(failed.blocks({&id, 1}));
        }
    }
}

TEST(LinkName, TellsDirectionsAndNodesApart) {
    ClusterSpec spec;
    spec.preset = "dgx-a100";
    spec.nodes = 4;
    const Cluster cluster = build(spec);
    const auto there = cluster.route(3, 8 * 2 + 3), back = cluster.route(8 * 2 + 3, 3);
    const auto nic = [&](const std::vector<LinkId>& route) {
        return link_name(cluster, *std::ranges::find_if(route, [&](LinkId id) { return cluster.link(id).tier == 1; }));
    };
    EXPECT_TRUE(nic(there).starts_with("node 0 nic 3 to leaf ")) << nic(there);
    EXPECT_TRUE(nic(back).starts_with("node 2 nic 3 to leaf ")) << nic(back);
    EXPECT_TRUE(link_name(cluster, back.back()).starts_with("node 0 ")) << "inside the node that is reached";
    EXPECT_THROW((void)link_name(cluster, cluster.links()), Error);
}

TEST(LinkName, EveryLinkHasItsOwn) {
    ClusterSpec chips;
    chips.preset = "tpu-v5p";
    chips.nodes = 128;
    chips.fabric.kind = "multislice";
    chips.fabric.groups = 2;
    ClusterSpec boxes;
    boxes.preset = "dgx-h100";
    boxes.nodes = 40;
    for (const ClusterSpec& spec : {boxes, chips}) {
        const Cluster cluster = build(spec);
        std::set<std::string> names;
        for (LinkId link = 0; link < cluster.links(); ++link) names.insert(link_name(cluster, link));
        EXPECT_EQ(names.size(), cluster.links()) << spec.preset;
    }
}

TEST(LinkName, InsideANodeBothEndsAreSaid) {
    ClusterSpec spec;
    spec.preset = "dgx-a100";
    spec.nodes = 2;
    const Cluster cluster = build(spec);
    EXPECT_EQ(link_name(cluster, cluster.route(8, 9).front()), "node 1 gpu 0 to nvswitch 0");
}

}  // namespace
}  // namespace orrery::topology
