#include "topology/catalog.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/error.hpp"
#include "hardware/gpu.hpp"

namespace orrery::topology {
namespace {

struct Bad {
    ClusterSpec spec;
    const char *pointer, *hint;  ///< hint: a part of it
};

TEST(Catalog, RefusesBadInputWithPlaceAndRemedy) {
    const Bad cases[] = {
        {{.preset = ""}, "/cluster/preset", "nearest names"},
        {{.preset = "superpod-a10"}, "/cluster/preset", "superpod-a100"},
        {{.preset = "superpod-a100", .nodes = 561}, "/cluster/nodes", "560"},
        {{.preset = "dgx-a100", .nodes = 4000000000}, "/cluster/nodes", "2000"},
        {{.preset = "dgx-a100", .gpu = "A1000"}, "/cluster/gpu", "A100"},
        {{.preset = "dgx-a100", .gpu = "H100"}, "/cluster/gpu", "A100-SXM4-40GB"},
        {{.preset = "dgx-a100", .gpu_power_limit = 500}, "/cluster/gpu_power_limit", "at most 400"},
        {{.preset = "dgx-h100", .gpu_power_limit = 70}, "/cluster/gpu_power_limit", "give more than 73.65"},
        {{.preset = "ethernet", .gpu = "H100", .gpu_power_limit = 500, .more_nodes = {"4 x P100"}},
         "/cluster/gpu_power_limit",
         "leave one"},
        {{.preset = "dgx-a100", .gpus_per_node = 9}, "/cluster/gpus_per_node", "1 to 8"},
        {{.preset = "dgx-a100", .nics_per_node = 3}, "/cluster/nics_per_node", "1, 2, 4, 8"},
        {{.preset = "dgx-a100", .nics_per_node = 16}, "/cluster/nics_per_node", "joint rate"},
        {{.preset = "dgx-a100", .nic_bytes_per_second = -1}, "/cluster/nic_rate", "Gb/s"},
        {{.preset = "dgx-a100", .nic_bytes_per_second = std::numeric_limits<double>::infinity()},
         "/cluster/nic_rate",
         "Gb/s"},
        {{.preset = "ethernet", .nodes = 128, .oversubscription = 0.5},
         "/cluster/oversubscription",
         "1 (non-blocking)"},
        {{.preset = "ethernet", .nodes = 4, .oversubscription = 2}, "/cluster/oversubscription", "more nodes"},
        {{.preset = "superpod-h100", .oversubscription = 2}, "/cluster/oversubscription", "1"},
        {{.preset = "superpod-h100", .switch_ports = 128}, "/cluster/switch_ports", "64"},
        {{.preset = "dgx-a100", .switch_ports = 1}, "/cluster/switch_ports", "2 to 1024"},
        {{.preset = "dgx-a100", .nodes = 2001}, "/cluster/nodes", "switch_ports"},
        {{.preset = "dgx-a100", .nodes = 2001, .switch_ports = 40}, "/cluster/nodes", "2000"},
        {{.preset = "gb200-nvl72", .gpus_per_node = 73}, "/cluster/gpus_per_node", "1 to 72"},
        {{.preset = "efa", .nccl_version = "new"}, "/cluster/nccl_version", "as in 2.18.5"},
        {{.preset = "efa", .nccl_version = "2.17.1"}, "/cluster/nccl_version", "2.18.0"},
        {{.preset = "tpu-v5p", .nccl_version = "2.18.5"}, "/cluster/nccl_version", "leave it out"},
        {{.preset = "dgx-h100", .aws_ofi_nccl_version = "1.7.3"}, "/cluster/aws_ofi_nccl_version", "preset efa"},
        {{.preset = "efa", .aws_ofi_nccl_version = "1"}, "/cluster/aws_ofi_nccl_version", "as in 2.18.5"},
    };
    for (const Bad& bad : cases) {
        SCOPED_TRACE(bad.spec.preset + " " + bad.pointer);
        try {
            build(bad.spec);
            ADD_FAILURE() << "accepted";
        } catch (const Error& e) {
            EXPECT_EQ(e.pointer(), bad.pointer) << e.what();
            EXPECT_NE(e.hint().find(bad.hint), std::string::npos) << e.what();
        }
    }
}

/// Amazon's p3dn, p4d, p5, p5en, p6-b200 and p6e-gb200.
TEST(Catalog, EfaHasTheNicsOfItsGpusInstance) {
    const auto gigabits_of = [](const char* gpu, std::uint32_t nics) {
        const Cluster cluster = build({.preset = "efa", .nodes = 2, .gpu = gpu});
        EXPECT_EQ(cluster.nics_per_node(), nics) << gpu;
        return cluster.nic_bytes_per_second() * 8e-9;
    };
    EXPECT_DOUBLE_EQ(gigabits_of("V100-SXM2-32GB", 1), 100);
    EXPECT_DOUBLE_EQ(gigabits_of("A100-SXM4-40GB", 4), 100);
    EXPECT_DOUBLE_EQ(gigabits_of("H100-SXM5-80GB", 8), 400);
    EXPECT_DOUBLE_EQ(gigabits_of("H200", 8), 400);
    EXPECT_DOUBLE_EQ(gigabits_of("B200", 8), 400);
    EXPECT_DOUBLE_EQ(gigabits_of("GB200", 18), 4 * 400);
    const Cluster own = build({.preset = "efa", .nodes = 2, .gpu = "H100-SXM5-80GB", .nics_per_node = 4});
    EXPECT_EQ(own.nics_per_node(), 4U) << "what is said goes first";
}

TEST(Catalog, BuildsEveryPresetAtItsDefaultAndFromOneNode) {
    std::set<std::string_view> names;
    for (const Preset& preset : presets()) {
        SCOPED_TRACE(preset.name);
        EXPECT_TRUE(names.insert(preset.name).second) << "named twice";
        EXPECT_FALSE(preset.summary.empty() || preset.source.empty());
        const Cluster usual = build({.preset = std::string(preset.name)});
        EXPECT_EQ(usual.nodes(), preset.default_nodes);
        EXPECT_EQ(usual.name(), preset.name);
        const Cluster one = build({.preset = std::string(preset.name), .nodes = 1});
        EXPECT_EQ(one.nodes(), 1u);
        EXPECT_EQ(one.gpus(), one.gpus_per_node());
        EXPECT_TRUE(properties(one).switches_by_tier.empty());
    }
}

TEST(Catalog, AppliesOverrides) {
    const Cluster c = build({.preset = "ethernet",
                             .nodes = 12,
                             .gpu = "A100-40GB",
                             .gpus_per_node = 4,
                             .nics_per_node = 2,
                             .nic_bytes_per_second = 3.125e9});
    EXPECT_EQ(c.gpus(), 48u);
    EXPECT_EQ(c.gpu().name, "A100-SXM4-40GB");
    EXPECT_EQ(c.nics_per_node(), 2u);
    EXPECT_DOUBLE_EQ(c.nic_bytes_per_second(), 3.125e9);
    EXPECT_DOUBLE_EQ(c.intra_node_bytes_per_second(), 300e9) << "the usual node of an A100 has NVSwitch";
}

TEST(Catalog, EthernetTakesEveryGpu) {
    for (const Gpu& gpu : hardware::gpus()) {
        if (hardware::is_chip(gpu.socket)) {
            EXPECT_THROW(build({.preset = "ethernet", .gpu = gpu.name}), Error) << gpu.name;
            continue;
        }
        const Cluster c = build({.preset = "ethernet", .nodes = 3, .gpu = gpu.name});
        EXPECT_EQ(c.gpu().name, gpu.name);
        EXPECT_GT(c.intra_node_bytes_per_second(), 0) << gpu.name;
        EXPECT_FALSE(c.route(0, c.gpus() - 1).empty()) << gpu.name;
    }
}

TEST(Catalog, ABoardMayHaveFewerNvlinksThanItsNode) {
    const auto inside = [](const char* preset, const char* gpu) {
        return build({.preset = preset, .nodes = 2, .gpu = gpu}).intra_node_bytes_per_second();
    };
    EXPECT_DOUBLE_EQ(inside("dgx-h100", "H100"), 450e9);
    EXPECT_DOUBLE_EQ(inside("dgx-h100", "H800"), 200e9);
    EXPECT_DOUBLE_EQ(inside("dgx-h100", "H20"), 450e9);
    EXPECT_DOUBLE_EQ(inside("superpod-a100", "A800"), 200e9);
    EXPECT_DOUBLE_EQ(inside("ethernet", "A800"), 200e9);
}

TEST(Catalog, PartOfARackIsACluster) {
    for (const std::uint32_t gpus : {1u, 2u, 4u, 6u, 36u}) {
        const Cluster c = build({.preset = "gb200-nvl72", .nodes = 2, .gpus_per_node = gpus});
        EXPECT_EQ(c.gpus(), 2 * gpus);
        EXPECT_EQ(c.nics_per_node(), gpus);
    }
}

TEST(Gpus, AreFoundByNameAndAlias) {
    for (const auto& [alias, name] : {std::pair{"A100", "A100-SXM4-80GB"},
                                      {"a100-80gb", "A100-SXM4-80GB"},
                                      {"A100-40GB", "A100-SXM4-40GB"},
                                      {"V100", "V100-SXM2-16GB"},
                                      {"V100-32GB", "V100-SXM2-32GB"},
                                      {"h100", "H100-SXM5-80GB"},
                                      {"H200", "H200-SXM-141GB"},
                                      {"A800", "A800-SXM4-80GB"},
                                      {"h20", "H20-SXM-96GB"},
                                      {"B200", "B200"},
                                      {"GB200-NVL72", "GB200"}}) {
        EXPECT_EQ(find_gpu(alias).name, name) << alias;
    }
    EXPECT_THROW(find_gpu(""), Error);
}

TEST(Gpus, HaveSaneDatasheets) {
    std::set<std::string> names;
    for (const Gpu& gpu : hardware::gpus()) {
        SCOPED_TRACE(gpu.name);
        if (gpu.socket == hardware::Socket::core) continue;  // a share of a host, and no accelerator
        EXPECT_TRUE(names.insert(gpu.name).second);
        EXPECT_GE(gpu.memory_bytes, 16ull << 30);
        EXPECT_GT(gpu.memory_bytes_per_second, 5e11);
        EXPECT_GE(gpu.half_flops, 2 * gpu.fp32_flops);
        if (gpu.fp8_flops > 0) {
            EXPECT_NEAR(gpu.fp8_flops, 2 * gpu.half_flops, 0.02 * gpu.fp8_flops);
        }
        if (gpu.tf32_flops > 0) {
            EXPECT_NEAR(gpu.half_flops, 2 * gpu.tf32_flops, 0.02 * gpu.half_flops);
        }
        EXPECT_NE(hardware::gpus_with(gpu.socket).find(gpu.name), std::string::npos);
    }
    EXPECT_EQ(find_gpu("A100").memory_bytes, 80ull << 30);
    EXPECT_DOUBLE_EQ(find_gpu("A100").half_flops, 312e12);
}

}  // namespace
}  // namespace orrery::topology
