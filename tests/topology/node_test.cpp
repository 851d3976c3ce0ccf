#include "topology/node.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "hardware/datasheets.hpp"
#include "topology/dgx.hpp"

namespace orrery::topology {
namespace {

using namespace hardware;

NodePlan whole(const char* name) {
    const NodeSpec& spec = find_node(name);
    return build_node(spec, spec.gpus, spec.nics);
}

std::size_t count(const NodePlan& node, VertexKind kind) {
    return static_cast<std::size_t>(std::ranges::count(node.vertices(), kind));
}

/// Cables to other GPUs or NVSwitches that leave one GPU.
std::uint32_t nvlinks(const NodePlan& node, std::uint32_t gpu) {
    std::uint32_t cables = 0;
    for (const auto& [from, to, link] : node.links()) {
        if (from == gpu && joins_gpus(link.kind)) cables += link.cables;
    }
    return cables;
}

double narrowest(const NodePlan& node, const NodePlan::Path& path) {
    double rate = 1e300;
    for (const std::uint32_t link : path) rate = std::min(rate, node.links()[link].link.bytes_per_second);
    return rate;
}

TEST(Node, HasTheDatasheetsNvlinks) {
    for (const auto& [name, cables, gigabytes] : {std::tuple{"dgx-1p", 4u, 80.0},
                                                  {"dgx-1v", 6u, 150.0},
                                                  {"dgx-2", 6u, 150.0},
                                                  {"dgx-a100", 12u, 300.0},
                                                  {"dgx-h100", 18u, 450.0},
                                                  {"hgx-b200", 18u, 900.0},
                                                  {"hgx-a100-4", 12u, 300.0},
                                                  {"hgx-h100-4", 18u, 450.0},
                                                  {"gh200-4", 18u, 450.0},
                                                  {"v100-4", 6u, 150.0},
                                                  {"mi300x-8", 7u, 448.0},
                                                  {"mi355x-8", 7u, 537.6},
                                                  {"gb200-nvl72", 18u, 900.0},
                                                  {"gb300-nvl72", 18u, 900.0}}) {
        const NodePlan node = whole(name);
        for (std::uint32_t gpu = 0; gpu < node.gpus(); ++gpu) EXPECT_EQ(nvlinks(node, gpu), cables) << name << gpu;
        EXPECT_DOUBLE_EQ(node.gpu_bytes_per_second(), gigabytes * 1e9) << name;
    }
}

TEST(Node, DiesOfAnInstinctsModuleShareFourLinks) {
    const NodePlan node = whole("mi250x-8");
    for (std::uint32_t die = 0; die < 8; ++die) {
        EXPECT_EQ(nvlinks(node, die), die % 2 == 0 ? 7u : 6u) << die;
        EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(die, die ^ 1U)), 200e9) << die;
    }
    EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(0, 2)), 50e9);
    EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(0, 6)), 100e9);
    EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(2, 4)), 100e9);
    EXPECT_EQ(node.gpu_to_gpu(0, 7).size(), 2u) << "over 6";
    EXPECT_EQ(node.gpu_to_gpu(0, 4).size(), 2u) << "over 2 or 6";
    for (std::uint32_t a = 0; a < 8; ++a)
        for (std::uint32_t b = 0; b < 8; ++b)
            EXPECT_EQ(narrowest(node, node.gpu_to_gpu(a, b)), narrowest(node, node.gpu_to_gpu(b, a)));
}

TEST(Node, CubeMeshNeedsTwoHopsBetweenTheSquares) {
    const NodePlan node = whole("dgx-1v");
    EXPECT_EQ(node.gpu_to_gpu(0, 3).size(), 1u);
    EXPECT_EQ(node.gpu_to_gpu(0, 4).size(), 1u);
    for (std::uint32_t far : {5u, 6u, 7u}) EXPECT_EQ(node.gpu_to_gpu(0, far).size(), 2u) << far;
    EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(0, 3)), 50e9);
    EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(0, 1)), 25e9);
    EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(0, 7)), 50e9) << "over GPU 4 with double links, not over GPU 3";
}

TEST(Node, CubeMeshIsSymmetric) {
    const NodePlan node = whole("dgx-1v");
    for (std::uint32_t a = 0; a < 8; ++a) {
        for (std::uint32_t b = 0; b < 8; ++b) {
            EXPECT_EQ(node.gpu_to_gpu(a, b).size(), node.gpu_to_gpu(b, a).size());
            EXPECT_EQ(narrowest(node, node.gpu_to_gpu(a, b)), narrowest(node, node.gpu_to_gpu(b, a)));
        }
    }
}

TEST(Node, RingsHaveTheLinksThatJoinTheirGpus) {
    const NodePlan mesh = whole("dgx-1v"), pairs = whole("v100-4"), four = whole("hgx-a100-4"), all = whole("dgx-a100");
    EXPECT_DOUBLE_EQ(mesh.ring_bytes_per_second(2), 25e9);
    EXPECT_DOUBLE_EQ(mesh.ring_bytes_per_second(4), 100e9) << "two links of each lead to the other square";
    EXPECT_DOUBLE_EQ(mesh.ring_bytes_per_second(8), 150e9);
    EXPECT_DOUBLE_EQ(pairs.ring_bytes_per_second(2), 50e9);
    EXPECT_DOUBLE_EQ(pairs.ring_bytes_per_second(4), 150e9);
    EXPECT_DOUBLE_EQ(four.ring_bytes_per_second(2), 100e9);
    for (const std::uint32_t ranks : {2U, 5U, 8U}) EXPECT_DOUBLE_EQ(all.ring_bytes_per_second(ranks), 300e9) << ranks;
    EXPECT_EQ(all.ring_bytes_per_second(1), 0);
    EXPECT_EQ(whole("pcie-8").ring_bytes_per_second(8), 0);
}

TEST(Node, NvswitchReachesEveryGpuAtFullRate) {
    const NodePlan node = whole("dgx-h100");
    EXPECT_EQ(count(node, VertexKind::nvswitch), 1u);
    for (std::uint32_t b = 1; b < 8; ++b) {
        EXPECT_EQ(node.gpu_to_gpu(0, b).size(), 2u);
        EXPECT_DOUBLE_EQ(narrowest(node, node.gpu_to_gpu(0, b)), 450e9);
    }
}

TEST(Node, Dgx2CrossesItsTwoBoardsThroughFortyEightLinks) {
    const NodePlan node = whole("dgx-2");
    EXPECT_EQ(count(node, VertexKind::nvswitch), 2u);
    EXPECT_EQ(node.gpu_to_gpu(0, 7).size(), 2u);
    const auto& across = node.gpu_to_gpu(0, 8);
    ASSERT_EQ(across.size(), 3u);
    EXPECT_EQ(node.links()[across[1]].link.cables, 48u);
}

TEST(Node, PairsGpusWithTheNicOnTheirSwitch) {
    const NodePlan a100 = whole("dgx-a100"), v100 = whole("dgx-1v");
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
        EXPECT_EQ(a100.nic_of(gpu), gpu);
        EXPECT_EQ(v100.nic_of(gpu), gpu / 2);
        EXPECT_EQ(a100.gpu_to_nic(gpu).size(), 2u) << "GPU, PCIe switch, NIC";
        EXPECT_EQ(v100.gpu_to_nic(gpu).size(), 2u);
        EXPECT_EQ(a100.nic_to_gpu(gpu).size(), 2u);
    }
}

TEST(Node, ReachesAFarNicOverBothSockets) {
    const NodePlan node = build_node(find_node("dgx-1v"), 8, 1);
    EXPECT_EQ(node.gpu_to_nic(0).size(), 2u);
    EXPECT_EQ(node.gpu_to_nic(3).size(), 4u) << "GPU, switch, CPU, switch, NIC";
    EXPECT_EQ(node.gpu_to_nic(7).size(), 5u) << "GPU, switch, CPU, CPU, switch, NIC";
}

TEST(Node, GoesOverPcieWithoutNvlink) {
    const NodePlan node = whole("pcie-8");
    EXPECT_DOUBLE_EQ(node.gpu_bytes_per_second(), pcie4_bytes_per_second);
    EXPECT_EQ(node.gpu_to_gpu(0, 1).size(), 2u);
    EXPECT_EQ(node.gpu_to_gpu(0, 7).size(), 5u);
}

TEST(Node, ARackOfSeventyTwoIsOneNvlinkDomain) {
    for (const auto& [rack, nic] : {std::pair{"gb200-nvl72", 50e9}, {"gb300-nvl72", 100e9}}) {
        const NodePlan node = whole(rack);
        EXPECT_EQ(node.nics(), 72u);
        EXPECT_EQ(node.gpu_to_gpu(0, 71).size(), 2u);
        EXPECT_EQ(node.gpu_to_nic(71).size(), 2u) << "GPU, Grace, NIC";
        EXPECT_GT(narrowest(node, node.gpu_to_nic(71)), nic) << "the NIC's own rate binds";
    }
}

TEST(Node, PartOfANodeKeepsTheDevicesItsGpusSitOn) {
    const NodePlan node = build_node(find_node("dgx-a100"), 4, 4);
    EXPECT_EQ(count(node, VertexKind::cpu), 1u);
    EXPECT_EQ(count(node, VertexKind::pcie_switch), 2u);
    for (std::uint32_t gpu = 0; gpu < 4; ++gpu) EXPECT_EQ(node.gpu_to_nic(gpu).size(), 2u);
}

TEST(Node, GpusOfOneSwitchShareTheirWayToTheHost) {
    const NodePlan node = whole("dgx-a100");
    for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
        const NodePlan::Path& path = node.gpu_to_host(gpu);
        ASSERT_EQ(path.size(), 2U);
        EXPECT_EQ(node.vertices()[node.links()[path.back()].to], VertexKind::cpu);
        EXPECT_EQ(path.back() == node.gpu_to_host(0).back(), gpu < 2) << gpu;
    }
    EXPECT_EQ(whole("cpu-host").gpu_to_host(63).size(), 1U);
    EXPECT_TRUE(NodePlan::chip().gpu_to_host(0).empty());
}

TEST(Node, HostsHaveTheMemoryOfTheirCpus) {
    const HostMemory all = whole("dgx-a100").host_memory(),
                     half = build_node(find_node("dgx-a100"), 4, 4).host_memory();
    EXPECT_EQ(all.bytes, std::uint64_t{2} << 40U);
    EXPECT_DOUBLE_EQ(all.bytes_per_second, 2 * 8 * 25.6e9);
    EXPECT_EQ(half.bytes, all.bytes / 2);
    EXPECT_DOUBLE_EQ(half.bytes_per_second, all.bytes_per_second / 2);
    EXPECT_EQ(whole("pcie-8").host_memory().bytes, 0U) << "not known";
}

}  // namespace
}  // namespace orrery::topology
