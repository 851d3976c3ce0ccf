#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hardware/datasheets.hpp"
#include "tests/validate/sample.hpp"
#include "topology/catalog.hpp"

namespace orrery::validate {

using test::mapped;
using test::reason;

TEST(MapCluster, VendorNodesByGpu) {
    const auto preset = [](const char* gpu, const char* node, std::uint32_t gpus, std::uint32_t nodes) {
        return mapped({{"gpu", gpu},
                       {"node", node},
                       {"gpus", gpus},
                       {"nodes", nodes},
                       {"dp", gpus / 2},
                       {"gbs", gpus},
                       {"network", "not stated"}})
            .cluster;
    };
    EXPECT_EQ(preset("V100-SXM2-16GB", "8 V100 hybrid cube mesh", 16, 2).preset, "dgx-1v");
    EXPECT_EQ(preset("V100-32GB", "single-node on DGX-2 V100 (16x V100 32GB)", 16, 1).preset, "dgx-2");
    EXPECT_EQ(preset("V100-32GB", "Jean Zay 4xV100", 16, 4).preset, "v100-4");
    EXPECT_EQ(preset("A100", "8-GPU SXM node", 16, 2).preset, "dgx-a100");
    EXPECT_EQ(preset("H100-80GB", "8x H100", 16, 2).preset, "dgx-h100");
    EXPECT_EQ(preset("H200", "p5en.48xlarge", 16, 2).preset, "hgx-h200");
    EXPECT_EQ(preset("GB200", "GB200 NVL72 (4 GPU per tray)", 64, 16).nodes, 1U);
    const topology::ClusterSpec racks = preset("GB200", "GB200 NVL72 (4 GPU per tray)", 128, 32);
    EXPECT_EQ(racks.nodes, 2U);
    EXPECT_EQ(racks.gpus_per_node, 64U);
    EXPECT_EQ(racks.nics_per_node, 64U);
}

TEST(MapCluster, EveryMappedClusterCanBeBuilt) {
    for (const char* gpu : {"V100-16GB", "A100-40GB", "A100", "H100", "H200", "B200", "GB200", "GB300"}) {
        for (const char* network : {"not stated", "1x100 Gb/s InfiniBand EDR", "32x EFA 100G", "50 Gb/s Ethernet",
                                    "1600 Gbps node-node interconnect (RoCE)", "3x 100 Gb/s InfiniBand"}) {
            SCOPED_TRACE(std::string(gpu) + " " + network);
            const auto scenario = mapped({{"gpu", gpu}, {"network", network}, {"node", nullptr}, {"nodes", nullptr}});
            const topology::Cluster cluster = topology::build(scenario.cluster);
            EXPECT_GE(cluster.gpus(), scenario.gpus);
        }
    }
}

TEST(MapCluster, PrintedNicsReplaceTheVendors) {
    const topology::ClusterSpec one = mapped({{"network", "1x100 Gb/s InfiniBand EDR per node"}}).cluster;
    EXPECT_EQ(one.nics_per_node, 1U);
    EXPECT_DOUBLE_EQ(one.nic_bytes_per_second, 12.5e9);
    // 32 adapters for 8 GPUs are counted as 8 of four times the rate.
    const topology::ClusterSpec efa =
        mapped({{"gpu", "H100"}, {"network", "32x EFA 100G per node (3200 Gb/s)"}}).cluster;
    EXPECT_EQ(efa.preset, "efa");
    EXPECT_EQ(efa.nics_per_node, 8U);
    EXPECT_DOUBLE_EQ(efa.nic_bytes_per_second, 50e9);
    const topology::ClusterSpec joint = mapped({{"network", "1600 Gbps node-node interconnect (RoCE)"}}).cluster;
    EXPECT_EQ(joint.preset, "ethernet");
    EXPECT_DOUBLE_EQ(joint.nics_per_node * joint.nic_bytes_per_second, 200e9);
}

TEST(MapCluster, EveryGpuHasANicOfARateThatIsPrintedPerGpu) {
    const topology::ClusterSpec spec = mapped({{"network", "400 Gb/s InfiniBand per GPU"}}).cluster;
    EXPECT_EQ(spec.nics_per_node, 8U);
    EXPECT_DOUBLE_EQ(spec.nic_bytes_per_second, 50e9);
}

TEST(MapCluster, EfaIsThatOfAmazonsNodeOfTheGpu) {
    const auto joint = [](const char* gpu) {
        const topology::ClusterSpec spec = mapped({{"gpu", gpu}, {"network", "EFA"}}).cluster;
        EXPECT_EQ(spec.preset, "efa");
        const topology::Cluster cluster = topology::build(spec);
        return cluster.nics_per_node() * cluster.nic_bytes_per_second() * 8e-9;
    };
    EXPECT_DOUBLE_EQ(joint("A100-40GB"), 400);
    EXPECT_DOUBLE_EQ(joint("H100"), 3200);
    EXPECT_DOUBLE_EQ(joint("H200"), 3200);
}

TEST(MapCluster, AMeasuredRateGoesBeforeTheLines) {
    const topology::ClusterSpec spec =
        mapped({{"gpu", "V100-32GB"},
                {"node", "4x V100"},
                {"nodes", 4},
                {"network", "4x Omni-Path 100 Gb/s per node (all-reduce 16 nodes 23-55 Gb/s measured)"}})
            .cluster;
    EXPECT_EQ(spec.nics_per_node, 4U);
    EXPECT_NEAR(4 * spec.nic_bytes_per_second * hardware::omni_path_adapter.payload_share * 8e-9, 39, 1e-9);
}

TEST(MapCluster, NamedSuperPodsAreTheReference) {
    const topology::ClusterSpec selene = mapped({{"network", "8x HDR InfiniBand 200 Gb/s per node (Selene)"}}).cluster;
    EXPECT_EQ(selene.preset, "superpod-a100");
    EXPECT_NO_THROW(topology::build(selene));
}

TEST(MapCluster, GpusByNameAndMemory) {
    const auto gpu = [](const char* text) { return map_gpu(test::row_with({{"gpu", text}}), test::any_profile).name; };
    EXPECT_EQ(gpu("A100-SXM4"), "A100-SXM4-80GB");
    EXPECT_EQ(gpu("A100-SXM4-40GB (2020; size not stated)"), "A100-SXM4-40GB");
    EXPECT_EQ(gpu("H100 SXM 96GB HBM2e"), "H100-SXM5-96GB");
    EXPECT_EQ(gpu("H100"), "H100-SXM5-80GB");
    EXPECT_EQ(gpu("A100-80GB (golden: dgx_a100)"), "A100-SXM4-80GB");
    EXPECT_EQ(gpu("H100-SXM 80GB"), "H100-SXM5-80GB");
    EXPECT_EQ(gpu("V100-SXM3-32GB (DGX-2)"), "V100-SXM3-32GB");
    EXPECT_EQ(gpu("V100-SXM2-32GB"), "V100-SXM2-32GB");
    EXPECT_EQ(gpu("V100 (memory not stated)"), "V100-SXM2-16GB");
}

TEST(MapCluster, BoardsAreHeldToTheWattsThatARowPrints) {
    EXPECT_EQ(mapped({{"gpu", "H100"}}).cluster.gpu_power_limit, 0);
    EXPECT_EQ(mapped({{"gpu", "H100"}, {"power_limit_w", 500}}).cluster.gpu_power_limit, 500);
}

/// Slices of cubes of 4 x 4 x 4, the dimension that tensor ranks fill first; several behind hosts.
TEST(MapCluster, ChipsStandInSlices) {
    const auto slice = [](const char* gpu, int chips, int slices, int tensor) {
        return mapped({{"gpu", gpu},
                       {"gpus", chips},
                       {"nodes", slices},
                       {"tp", tensor},
                       {"dp", chips / tensor},
                       {"pp", 1},
                       {"mbs", 1},
                       {"gbs", chips / tensor}})
            .cluster;
    };
    const topology::ClusterSpec one = slice("TPU v5p", 128, 1, 8);
    EXPECT_EQ(one.preset, "tpu-v5p");
    EXPECT_EQ(one.fabric.shape, "8x4x4");
    EXPECT_EQ(one.fabric.kind, "");
    EXPECT_EQ(slice("TPU v5p", 64, 1, 4).fabric.shape, "4x4x4");
    EXPECT_EQ(slice("TPU v4", 192, 1, 1).fabric.shape, "4x4x12") << "not 4 x 6 x 8";
    const topology::ClusterSpec two = slice("TPU v5e", 512, 2, 1);
    EXPECT_EQ(two.fabric.kind, "multislice");
    EXPECT_EQ(two.fabric.shape, "16x16");
    EXPECT_EQ(two.fabric.groups, 2u);
    EXPECT_EQ(topology::build(two).nodes(), 512u);
}

TEST(MapCluster, UnknownGpusAreNamed) {
    const auto gpu = [](const char* text) { return reason({{"gpu", text}}); };
    EXPECT_EQ(gpu("TPU v2"), "gpu TPU v2 has no profile");
    EXPECT_EQ(gpu("P40"), "gpu P40 has no profile");
    EXPECT_EQ(gpu("A100-PCIe-40GB"), "gpu A100-PCIe-40GB has no profile");
    EXPECT_EQ(gpu("8x V100-32GB + 8x P100-16GB"), "GPUs of several kinds are not supported");
    for (const char* other : {"H100 NVL", "A100X", "V100S-PCIe", "H100 CNX", "H800"})
        EXPECT_EQ(gpu(other), fmt::format("gpu {} has no profile", other));
    EXPECT_EQ(gpu("not stated (NVLink 8-GPU node)"), "GPU not published");
    EXPECT_EQ(reason({{"gpu", nullptr}}), "GPU not published");
    EXPECT_EQ(test::reason_of([] { map_row(test::row_with({}), [](const std::string&) { return false; }); }),
              "gpu A100-SXM4-80GB has no profile");
}

}  // namespace orrery::validate
