#include "topology/routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/error.hpp"
#include "tests/topology/walk.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {
namespace {

ClusterSpec superpod(const char* routing) { return {.preset = "superpod-h100", .nodes = 128, .routing = routing}; }

/// GPUs of one rail to those of the next unit, one message each: the most on one cable above the leaves.
double worst_cable(const Cluster& cluster) {
    std::map<LinkId, double> load;
    std::vector<LinkShare> shares;
    for (std::uint32_t node = 0; node < 32; ++node) {
        cluster.shares(node * 8, (node + 32) * 8, shares);
        for (const LinkShare& share : shares) load[share.link] += share.share;
    }
    double worst = 0;
    for (const auto& [id, sum] : load) {
        const Link link = cluster.link(id);
        if (link.tier > 1) worst = std::max(worst, sum / link.cables);
    }
    return worst;
}

TEST(Routing, MinimalAndSprayedShiftsAreFreeOfContentionAndHashedOnesCollide) {
    EXPECT_DOUBLE_EQ(worst_cable(build(superpod("minimal"))), 1);
    EXPECT_NEAR(worst_cable(build(superpod("spray"))), 1, 1e-12);
    EXPECT_GT(worst_cable(build(superpod("ecmp"))), 1);
}

/// Fullest cable above the leaves when random pairs of nodes of one rail send.
double worst_of_random_pairs(const Cluster& cluster, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::map<LinkId, double> load;
    std::vector<std::uint32_t> to(cluster.nodes());
    std::iota(to.begin(), to.end(), 0U);
    std::ranges::shuffle(to, random);
    for (std::uint32_t node = 0; node < cluster.nodes(); ++node) {
        if (to[node] == node) continue;
        for (const LinkId id : cluster.route(node * 8, to[node] * 8)) load[id] += 1;
    }
    double worst = 0;
    for (const auto& [id, sum] : load) {
        const Link link = cluster.link(id);
        if (link.tier > 1) worst = std::max(worst, sum / link.cables);
    }
    return worst;
}

TEST(Routing, AdaptivePathsAvoidEachOther) {
    double hashed = 0, adaptive = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        hashed += worst_of_random_pairs(build(superpod("ecmp")), seed);
        const double worst = worst_of_random_pairs(build(superpod("adaptive")), seed);
        EXPECT_EQ(worst, worst_of_random_pairs(build(superpod("adaptive")), seed)) << "the same order, the same paths";
        adaptive += worst;
    }
    EXPECT_LT(adaptive, 0.75 * hashed);
    EXPECT_DOUBLE_EQ(worst_cable(build(superpod("adaptive"))), 1) << "a shift needs no cable twice";
}

TEST(Routing, AdaptivePathsAreKeptAndAvoidFailures) {
    ClusterSpec spec = superpod("adaptive");
    const Cluster cluster = build(spec);
    const auto first = cluster.route(0, 1016);
    for (GpuId to = 256; to < 1016; to += 8) (void)cluster.route(8, to);
    EXPECT_EQ(cluster.route(0, 1016), first);
    spec.failed = {"spine 3"};
    const Cluster broken = build(spec);
    const Walker walker(broken);
    for (GpuId to = 256; to < 1024; to += 8) {
        walker.expect_connected(0, to);
        for (const LinkId id : broken.route(0, to)) {
            const std::uint32_t fabric[] = {id - broken.first_fabric_link()};
            if (id < broken.first_fabric_link()) continue;
            EXPECT_FALSE(broken.failures()->blocks(fabric));
        }
    }
}

TEST(Routing, HashesDependOnTheSeedOnly) {
    ClusterSpec spec = superpod("ecmp");
    const Cluster one = build(spec), again = build(spec);
    spec.routing_seed = 2;
    const Cluster two = build(spec);
    int differ = 0;
    for (GpuId to = 256; to < 1024; to += 8) {
        EXPECT_EQ(one.route(0, to), again.route(0, to));
        differ += one.route(0, to) == two.route(0, to) ? 0 : 1;
    }
    EXPECT_GT(differ, 48) << "of 96";
}

TEST(Routing, SharesOfASprayedMessageAddUpToOneInEveryTier) {
    for (const ClusterSpec& spec : {superpod("spray"),
                                    {.preset = "tpu-v4", .nodes = 512, .routing = "spray"},
                                    {.preset = "dgx-h100",
                                    .nodes = 64,
                                    .fabric = {.kind = "dragonfly-plus", .terminals = 16, .routers = 8, .groups = 4},
                                    .routing = "spray"}}) {
        const Cluster cluster = build(spec);
        std::vector<LinkShare> shares;
        const GpuId from = 0, to = cluster.gpus() / 2 + 3;
        cluster.shares(from, to, shares);
        double sum = 0;
        std::set<LinkId> seen;
        for (const LinkShare& share : shares) {
            sum += share.share;
            EXPECT_TRUE(seen.insert(share.link).second) << "named twice";
            EXPECT_LE(share.share, 1 + 1e-12);
        }
        EXPECT_NEAR(sum, static_cast<double>(cluster.route(from, to).size()), 1e-9) << spec.preset;
        EXPECT_GT(shares.size(), cluster.route(from, to).size()) << spec.preset;
    }
}

/// What many messages put on each link: by every link, and by those that stand for their kind.
TEST(Routing, OneLinkStandsForThoseThatAreSprayedAlike) {
    for (const ClusterSpec& spec : {superpod("spray"), ClusterSpec{.preset = "dgx-a100", .nodes = 840},
                                    ClusterSpec{.preset = "dgx-h100", .nodes = 90, .switch_ports = 32},
                                    ClusterSpec{.preset = "dgx-h100", .nodes = 200, .oversubscription = 3}}) {
        SCOPED_TRACE(spec.preset);
        const Cluster cluster = build(spec);
        ASSERT_TRUE(cluster.sprays_alike());
        std::mt19937_64 random(1);
        std::map<LinkId, double> all, standing;
        std::vector<LinkShare> uses;
        for (int message = 0; message < 500; ++message) {
            const auto from = static_cast<GpuId>(random() % cluster.gpus());
            const auto to = static_cast<GpuId>(random() % cluster.gpus());
            cluster.shares(from, to, uses);
            for (const LinkShare& use : uses) all[use.link] += use.share / cluster.link(use.link).cables;
            cluster.loads(from, to, uses);
            for (const LinkShare& use : uses) standing[use.link] += use.share / cluster.link(use.link).cables;
        }
        std::map<std::uint32_t, double> fullest, said;
        for (const auto& [link, load] : all) {
            double& most = fullest[cluster.link(link).tier];
            most = std::max(most, load);
        }
        for (const auto& [link, load] : standing) {
            EXPECT_NEAR(load, all.at(link), 1e-9);
            double& most = said[cluster.link(link).tier];
            most = std::max(most, load);
        }
        ASSERT_EQ(said.size(), fullest.size());
        for (const auto& [tier, load] : fullest) EXPECT_NEAR(said.at(tier), load, 1e-9) << "tier " << tier;
        EXPECT_LT(standing.size(), all.size());
    }
}

TEST(Routing, InfiniBandSpraysUnlessToldOtherwise) {
    EXPECT_EQ(build({.preset = "superpod-h100"}).routing().policy, RoutingPolicy::spray);
    EXPECT_EQ(build(superpod("minimal")).routing().policy, RoutingPolicy::minimal);
    EXPECT_EQ(build({.preset = "ethernet", .nodes = 512}).routing().policy, RoutingPolicy::minimal);
    EXPECT_EQ(build({.preset = "dgx-h100", .nodes = 8}).routing().policy, RoutingPolicy::minimal)
        << "one switch a rail";
    ClusterSpec broken{.preset = "superpod-h100"};
    broken.failed = {"spine 0"};
    EXPECT_EQ(build(broken).routing().policy, RoutingPolicy::minimal);
}

TEST(Routing, RailsChangeInsideTheNode) {
    const Cluster cluster = build(superpod("rails"));
    std::vector<std::uint32_t> tiers;
    for (const LinkId id : cluster.route(0, 8 + 1)) tiers.push_back(cluster.link(id).tier);
    EXPECT_EQ(tiers, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 0, 0})) << "one leaf instead of the spine";
    const Walker walker(cluster);
    walker.expect_connected(0, 8 + 1);
    walker.expect_connected(3, 1023);
}

TEST(Routing, GoesRoundFailures) {
    struct Case {
        ClusterSpec spec;
        const char* failed;
    };
    const Case cases[] = {
        {{.preset = "superpod-h100", .nodes = 128}, "spine 3"},
        {{.preset = "superpod-h100", .nodes = 128}, "leaf 0 - spine 0"},
        {{.preset = "superpod-a100"}, "core 5"},
        {{.preset = "tpu-v4", .nodes = 64}, "router 0 - router 1"},
        {{.preset = "ethernet", .fabric = {.kind = "dragonfly", .terminals = 2, .routers = 4}}, "router 0 - router 7"},
        {{.preset = "ethernet", .fabric = {.kind = "full-mesh", .shape = "6"}}, "router 2 - router 4"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.spec.preset + " without " + c.failed);
        ClusterSpec spec = c.spec;
        spec.failed = {c.failed};
        const Cluster sound = build(c.spec), broken = build(spec);
        ASSERT_GT(broken.failures()->failed_links(), 0u);
        const Walker walker(broken);
        std::size_t changed = 0;
        for (GpuId from = 0; from < broken.gpus(); from += 1 + broken.gpus() / 40) {
            for (GpuId to = 0; to < broken.gpus(); to += 1 + broken.gpus() / 60) {
                if (broken.node_of(from) == broken.node_of(to)) continue;
                walker.expect_connected(from, to);
                std::vector<LinkId> fabric;
                for (const LinkId id : broken.route(from, to)) {
                    if (id >= broken.first_fabric_link()) fabric.push_back(id - broken.first_fabric_link());
                }
                EXPECT_FALSE(broken.failures()->blocks(fabric)) << from << " to " << to;
                changed += broken.route(from, to) == sound.route(from, to) ? 0 : 1;
            }
        }
        EXPECT_GT(changed, 0u);
    }
}

TEST(Routing, NamesTheGpuThatIsCutOffAndTheFailureThatIsNone) {
    struct Bad {
        const char *failed, *pointer, *message, *hint;
    };
    const Bad bads[] = {
        {"leaf 0", "/cluster/failed", "GPU 0 (node 0, GPU 0) is cut off", "leave some"},
        {"node 4 nic 2", "/cluster/failed", "GPU 34 (node 4, GPU 2) is cut off", "fewer nodes"},
        {"leaf 99", "/cluster/failed/0", "leaf 99", "\"leaf 31\""},
        {"node 4 nic 8", "/cluster/failed/0", "node 4 nic 8", "\"node 127 nic 7\""},
        {"leaf 0 - leaf 1", "/cluster/failed/0", "no link", "a cable joins"},
        {"link 9999999", "/cluster/failed/0", "link 9999999", "links 0 to"},
        {"leaf", "/cluster/failed/0", "leaf", "there are"},
        {"", "/cluster/failed/0", "there is no", "there are"},
    };
    for (const Bad& bad : bads) {
        SCOPED_TRACE(bad.failed);
        try {
            build({.preset = "superpod-h100", .nodes = 128, .failed = {bad.failed}});
            ADD_FAILURE() << "accepted";
        } catch (const Error& e) {
            EXPECT_EQ(e.pointer(), bad.pointer);
            EXPECT_NE(e.message().find(bad.message), std::string::npos) << e.what();
            EXPECT_NE(e.hint().find(bad.hint), std::string::npos) << e.what();
        }
    }
    EXPECT_THROW(build({.preset = "dgx-a100", .routing = "shortest"}), Error);
}

}  // namespace
}  // namespace orrery::topology
