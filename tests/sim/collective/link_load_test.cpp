// All pairs by class against all pairs one by one.
#include "sim/collective/link_load.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/collective/algorithms.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using topology::GpuId;
using enum kernels::CollectiveKind;

void expect_equal(const LinkLoad::Bytes& actual, const LinkLoad::Bytes& expected) {
    std::size_t used = 0;
    for (const auto& [link, bytes] : actual) {
        if (bytes == 0) continue;
        ++used;
        const auto found = expected.find(link);
        ASSERT_NE(found, expected.end()) << link;
        ASSERT_NEAR(bytes, found->second, 1e-9 * found->second) << link;
    }
    EXPECT_EQ(used, expected.size());
}

void expect_exact(const topology::ClusterSpec& spec, std::uint32_t ranks, const char* algorithm) {
    SCOPED_TRACE(testing::Message() << spec.preset << ' ' << spec.routing << ' ' << ranks << ' ' << algorithm);
    const topology::Cluster cluster = topology::build(spec);
    std::vector<GpuId> gpus(ranks);
    std::iota(gpus.begin(), gpus.end(), 0U);
    const Group group(gpus, cluster.gpus_per_node());
    const Phase phase = find_algorithm(algorithm, all_to_all).schedule(all_to_all, group, 1.0).phases.front();
    LinkLoad classes(cluster, group), pairs(cluster, group);
    classes.add(phase);
    pairs.add({expanded(phase, group)});
    expect_equal(classes.between(), pairs.between());
    expect_equal(classes.inside(), pairs.inside());
}

TEST(LinkLoad, PairsByClassAreExact) {
    for (const char* algorithm : {"direct", "pxn"}) {
        for (const char* routing : {"minimal", "spray"}) {
            expect_exact({.preset = "superpod-h100", .nodes = 64, .routing = routing}, 512, algorithm);
            // The last node half used; three tiers, oversubscribed.
            expect_exact({.preset = "superpod-a100", .nodes = 40, .routing = routing}, 316, algorithm);
            expect_exact(
                {.preset = "dgx-a100", .nodes = 40, .oversubscription = 3, .switch_ports = 16, .routing = routing}, 320,
                algorithm);
        }
        expect_exact({.preset = "ethernet", .nodes = 100, .oversubscription = 2}, 720, algorithm);
        expect_exact({.preset = "superpod-a100", .nodes = 1}, 8, algorithm);
        expect_exact({.preset = "dgx-h100", .nodes = 8, .routing = "ecmp"}, 64, algorithm);
        expect_exact({.preset = "dgx-h100", .nodes = 8, .routing = "spray"}, 64, algorithm);
        expect_exact({.preset = "dgx-h100", .nodes = 8, .routing = "rails"}, 64, algorithm);
        expect_exact({.preset = "tpu-v4", .nodes = 64}, 64, algorithm);
    }
}

TEST(LinkLoad, PxnStaysOnItsRails) {
    const topology::Cluster cluster = topology::build({.preset = "dgx-h100", .nodes = 16});
    std::vector<GpuId> gpus(128);
    std::iota(gpus.begin(), gpus.end(), 0U);
    const Group group(gpus, 8);
    const auto most = [&](const char* algorithm) {
        LinkLoad load(cluster, group);
        load.add(find_algorithm(algorithm, all_to_all).schedule(all_to_all, group, 1.0).phases.front());
        double fabric = 0, nic = 0;
        for (const auto& [link, bytes] : load.between())
            (cluster.link(link).tier >= 2 ? fabric : nic) += bytes * (cluster.link(link).tier > 0 ? 1 : 0);
        return std::pair{fabric, nic};
    };
    EXPECT_NEAR(most("pxn").second, most("direct").second, 1e-9) << "as much through the NICs";
    EXPECT_LT(most("pxn").first, most("direct").first) << "less through the spines";
}

}  // namespace
}  // namespace orrery::sim
