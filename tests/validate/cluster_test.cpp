#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"
#include "topology/catalog.hpp"

namespace orrery::validate {

using test::mapped;
using test::reason;

namespace {

struct Text {
    const char* words;
    std::uint32_t count;
    double gigabits;
    bool total;
};

// As the sources print them.
const Text texts[] = {
    {"8x hdr infiniband 200 gb/s per node (selene)", 8, 200, false},
    {"4x omni-path 100 gb/s per node shared with other jobs", 4, 100, false},
    {"omni-path 100 gb/s x? per node", 0, 100, false},
    {"1x100 gb/s infiniband edr per node", 1, 100, false},
    {"nvlink3/nvswitch + 8x hdr200 ib", 8, 200, false},
    {"nvlink2 + 4x edr ib", 4, 100, false},
    {"not stated (dgx: nvlink + 8x400g nic)", 8, 400, false},
    {"1600 gbps node-node interconnect (roce)", 0, 1600, true},
    {"32x efa 100g per node (3200 gb/s), aws-ofi-nccl 1.7.3", 32, 100, false},
    {"8x 2x100g rocev2 per node (1600 gb/s)", 8, 200, false},
    {"gpudirect-tcpx 4x200 gb/s per vm (recollection)", 4, 200, false},
    {"50 gb/s ethernet", 1, 50, false},
    {"100 gb/s tcp", 1, 100, false},
    {"nvlink in node", 0, 0, false},
    {"nvlink3/nvswitch 300 gb per direction", 0, 0, false},
    {"8x a100 80gb", 0, 0, false},
    {"99999999999999999999x hdr infiniband 200 gb/s", 0, 200, false},
};

}  // namespace

TEST(MapCluster, ReadsNetworks) {
    for (const Text& text : texts) {
        SCOPED_TRACE(text.words);
        const Nics nics = parse_nics(text.words);
        EXPECT_EQ(nics.count, text.count);
        EXPECT_NEAR(nics.bytes_per_second * 8e-9, text.gigabits, 1e-9);
        EXPECT_EQ(nics.total, text.total);
    }
}

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

TEST(MapCluster, NamedSuperPodsAreTheReference) {
    const topology::ClusterSpec selene = mapped({{"network", "8x HDR InfiniBand 200 Gb/s per node (Selene)"}}).cluster;
    EXPECT_EQ(selene.preset, "superpod-a100");
    EXPECT_NO_THROW(topology::build(selene));
}

TEST(MapCluster, GpusByNameAndMemory) {
    const auto gpu = [](const char* text) { return map_gpu(test::row_with({{"gpu", text}}), test::any_profile).name; };
    EXPECT_EQ(gpu("A100-SXM4"), "A100-SXM4-80GB");
    EXPECT_EQ(gpu("A100-SXM4-40GB (2020; size not stated)"), "A100-SXM4-40GB");
    EXPECT_EQ(gpu("A100-80GB (golden: dgx_a100)"), "A100-SXM4-80GB");
    EXPECT_EQ(gpu("H100-SXM 80GB"), "H100-SXM5-80GB");
    EXPECT_EQ(gpu("V100-SXM3-32GB (DGX-2)"), "V100-SXM3-32GB");
    EXPECT_EQ(gpu("V100-SXM2-32GB"), "V100-SXM2-32GB");
    EXPECT_EQ(gpu("V100 (memory not stated)"), "V100-SXM2-16GB");
}

TEST(MapCluster, UnknownGpusAreNamed) {
    const auto gpu = [](const char* text) { return reason({{"gpu", text}}); };
    EXPECT_EQ(gpu("TPU v5e"), "gpu TPU v5e has no profile");
    EXPECT_EQ(gpu("P40"), "gpu P40 has no profile");
    EXPECT_EQ(gpu("A100-PCIe-40GB"), "gpu A100-PCIe-40GB has no profile");
    EXPECT_EQ(gpu("8x V100-32GB + 8x P100-16GB"), "GPUs of several kinds are not supported");
    EXPECT_EQ(gpu("not stated (NVLink 8-GPU node)"), "GPU not published");
    EXPECT_EQ(reason({{"gpu", nullptr}}), "GPU not published");
    EXPECT_EQ(test::reason_of([] { map_row(test::row_with({}), [](const std::string&) { return false; }); }),
              "gpu A100-SXM4-80GB has no profile");
}

}  // namespace orrery::validate
