// Shift patterns run free of contention in non-blocking fabrics; that is what d-mod-k routing promises.
#include <gtest/gtest.h>

#include <random>

#include "tests/topology/walk.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {
namespace {

/// Every GPU sends to the one at the same place of the node `distance` further, around the end.
std::vector<GpuId> shift(const Cluster& cluster, std::uint32_t distance) {
    std::vector<GpuId> destination(cluster.gpus());
    for (GpuId gpu = 0; gpu < cluster.gpus(); ++gpu) {
        destination[gpu] = (gpu + distance * cluster.gpus_per_node()) % cluster.gpus();
    }
    return destination;
}

TEST(Contention, RingsHaveEveryCableToThemselvesAtAnySize) {
    // With a NIC for every GPU; several GPUs on a NIC share it by themselves.
    for (const char* preset : {"superpod-a100", "superpod-h100", "dgx-a100", "dgx-h100", "hgx-b200", "gb200-nvl72",
                               "hgx-a100-4", "hgx-h100-4", "gh200-4", "v100-4"}) {
        for (const std::uint32_t nodes : {2u, 3u, 7u, 20u, 21u, 64u, 127u, 140u, 300u}) {
            const Cluster cluster = build({.preset = preset, .nodes = nodes});
            EXPECT_LE(most_flows_per_cable(cluster, shift(cluster, 1)), 1) << preset << " " << nodes;
        }
    }
}

TEST(Contention, EveryShiftOfFullUnitsIsFree) {
    for (const auto& [preset, nodes] : {std::pair{"superpod-a100", 80u},
                                        {"superpod-a100", 140u},
                                        {"superpod-h100", 128u},
                                        {"superpod-h100", 512u},
                                        {"gb200-nvl72", 12u}}) {
        const Cluster cluster = build({.preset = preset, .nodes = nodes});
        const std::uint32_t step = nodes > 200 ? 37 : nodes > 20 ? 7 : 1;
        for (std::uint32_t distance = 1; distance < nodes; distance += step) {
            EXPECT_LE(most_flows_per_cable(cluster, shift(cluster, distance)), 1) << preset << " by " << distance;
        }
    }
}

TEST(Contention, FullSpineGroupsAreFreeAcrossTheCore) {
    // 560 nodes in groups of 140: shifts that cross SuperPODs.
    const Cluster cluster = build({.preset = "superpod-a100", .nodes = 560});
    for (const std::uint32_t distance : {1u, 20u, 139u, 140u, 141u, 280u, 420u, 559u}) {
        EXPECT_LE(most_flows_per_cable(cluster, shift(cluster, distance)), 1) << distance;
    }
}

TEST(Contention, GpusThatShareANicShareItsCables) {
    const Cluster cluster = build({.preset = "dgx-1v", .nodes = 40});
    EXPECT_EQ(most_flows_per_cable(cluster, shift(cluster, 1)), 2) << "8 GPUs, 4 NICs";
}

TEST(Contention, OversubscriptionShows) {
    const Cluster cluster = build({.preset = "ethernet", .nodes = 96, .gpus_per_node = 1, .oversubscription = 3});
    EXPECT_EQ(most_flows_per_cable(cluster, shift(cluster, 48)), 3) << "48 nodes send over 16 uplinks";
}

}  // namespace
}  // namespace orrery::topology
