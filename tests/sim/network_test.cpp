#include "sim/network.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "calibrate/profile.hpp"
#include "hardware/token_exchange.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/nccl_tuning.hpp"
#include "sim/collective/timer.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"
#include "topology/dgx.hpp"

namespace orrery::sim {
namespace {

using kernels::CollectiveKind;
using topology::GpuId;

constexpr std::array kinds{CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                           CollectiveKind::all_to_all, CollectiveKind::broadcast};
constexpr double mebibyte = 1 << 20;

/// Eight nodes of a SuperPOD: 8 GPUs and 8 rails of 25 GB/s each.
class NetworkTest : public testing::Test {
protected:
    /// `per_node` GPUs of each of `nodes` nodes.
    static std::vector<GpuId> group(std::uint32_t nodes, std::uint32_t per_node) {
        std::vector<GpuId> gpus;
        for (std::uint32_t node = 0; node < nodes; ++node)
            for (std::uint32_t i = 0; i < per_node; ++i) gpus.push_back(node * 8 + i);
        return gpus;
    }
    [[nodiscard]] Transfer transfer(CollectiveKind kind, const std::vector<GpuId>& gpus, double bytes) const {
        return network.collective(kind, gpus, bytes, network.path(gpus));
    }
    [[nodiscard]] double seconds(CollectiveKind kind, const std::vector<GpuId>& gpus, double bytes) const {
        return network.alone(transfer(kind, gpus, bytes), network.path(gpus));
    }

    topology::Cluster cluster = topology::build({.preset = "superpod-a100", .nodes = 8});
    Network network{cluster, profiles().find("a100")};
    double nic = cluster.nic_bytes_per_second() * cluster.fabric().parts().adapter.payload_share;
};

TEST_F(NetworkTest, TheWireCarriesTheBusTraffic) {
    for (const CollectiveKind kind : kinds)
        for (const std::uint32_t nodes : {2U, 5U, 8U}) {
            const double least = kernels::bus_factor(kind, nodes) * 1024 * mebibyte;
            EXPECT_NEAR(transfer(kind, group(nodes, 1), 1024 * mebibyte).bytes, least, least * 1e-12)
                << kernels::name(kind) << ": a large transfer spends nothing on flags";
            EXPECT_GE(transfer(kind, group(nodes, 1), 1000).bytes,
                      kernels::bus_factor(kind, nodes) * 1000 * (1 - 1e-12));
        }
}

/// HybridEP's own measurements (deepseek-ai/DeepEP, branch hybrid-ep, docs/README_Hybrid-EP.md, "H100 Platform": 4,096
/// tokens of width 7,168 in bf16 to the 8 of 8 experts a rank, 16 SMs, kernels alone): bytes of tokens for each node,
/// the own one among them, by the time.
TEST(TokenExchange, TakesWhatHybridEpTook) {
    const topology::Cluster cluster = topology::build({.preset = "superpod-h100", .nodes = 8});
    const Network network(cluster, profiles().find("h100"));
    constexpr double width = 7168 * 2.0, tokens = 4096;
    for (const auto& [ranks, dispatch, combine] :
         {std::tuple(16U, 71.71e9, 62.95e9), std::tuple(32U, 57.69e9, 57.46e9), std::tuple(64U, 49.97e9, 49.77e9)}) {
        std::vector<GpuId> gpus(ranks);
        std::iota(gpus.begin(), gpus.end(), 0U);
        const models::Routing routing{8 * ranks, 8};
        const double copies = models::expected_parts(routing, ranks),
                     nodes = models::expected_parts(routing, ranks / 8.0);
        const strategies::OnceANode once{routing, copies};
        const auto path = network.path(gpus);
        const double bytes = tokens * copies * width;
        const double exchange =
            network.alone(network.collective(CollectiveKind::all_to_all, gpus, bytes, path, &once), path);
        const double measured = tokens * nodes * width * (1 / dispatch + 1 / combine) / 2;
        EXPECT_NEAR(exchange / measured, 1, ranks == 16 ? 0.3 : 0.1) << ranks;
        EXPECT_LT(exchange, network.alone(network.collective(CollectiveKind::all_to_all, gpus, bytes, path), path));
    }
}

/// DeepEP on eight H100 with 20 multiprocessors (aiconfigurator, h100_sxm, normal mode, 131,072 tokens): a dispatch in
/// fp8 and a combine in bf16, microseconds, of widths and numbers of experts that a token goes to.
TEST(TokenExchange, TakesWhatDeepEpTookInsideANode) {
    const topology::Cluster cluster = topology::build({.preset = "superpod-h100", .nodes = 2});
    const Network network(cluster, profiles().find("h100"));
    std::vector<GpuId> gpus(8);
    std::iota(gpus.begin(), gpus.end(), 0U);
    const auto path = network.path(gpus);
    for (const auto& [width, experts, of, dispatch, combine] :
         {std::tuple(2048, 8, 128, 8150.0, 8947.0), std::tuple(3072, 8, 256, 9128.0, 12474.0),
          std::tuple(4096, 6, 256, 9151.0, 13450.0), std::tuple(4096, 8, 256, 10656.0, 15870.0),
          std::tuple(4096, 22, 512, 12918.0, 22284.0), std::tuple(6144, 4, 128, 9632.0, 17420.0),
          std::tuple(7168, 8, 256, 15837.0, 26657.0)}) {
        const models::Routing routing{static_cast<std::uint32_t>(of), static_cast<std::uint32_t>(experts)};
        const double copies = models::expected_parts(routing, 8);
        const strategies::OnceANode once{routing, copies, 131072};
        const auto exchange = [&](double bytes_each) {
            const double bytes = 131072 * copies * width * bytes_each;
            return network.alone(network.collective(CollectiveKind::all_to_all, gpus, bytes, path, &once), path);
        };
        EXPECT_NEAR((exchange(1) + exchange(2)) / (dispatch + combine) * 1e6, 1, 0.15) << width << " " << experts;
    }
}

/// HybridEP's own measurements within an NVLink domain (the same document, "GB200 Platform", Torch API with 32 SMs, a
/// dispatch in bf16 and a combine): bytes of all copies, a rank's own among them, by the time.
TEST(TokenExchange, TakesWhatHybridEpTookOnGraceBlackwell) {
    const topology::Cluster cluster = topology::build({.preset = "gb200-nvl72", .nodes = 1});
    const Network network(cluster, profiles().find("gb200"));
    constexpr double width = 7168 * 2.0, tokens = 4096;
    for (const auto& [ranks, dispatch, combine] :
         {std::tuple(8U, 545.71e9, 568.94e9), std::tuple(16U, 523.48e9, 521.55e9), std::tuple(24U, 507.32e9, 483.76e9),
          std::tuple(32U, 484.22e9, 464.54e9), std::tuple(36U, 479.02e9, 447.89e9)}) {
        std::vector<GpuId> gpus(ranks);
        std::iota(gpus.begin(), gpus.end(), 0U);
        const models::Routing routing{8 * ranks, 8};
        const double copies = models::expected_parts(routing, ranks);
        const strategies::OnceANode once{routing, copies, 4096};
        const auto path = network.path(gpus);
        const double bytes = tokens * copies * width;
        const auto seconds = [&](const strategies::OnceANode* routed) {
            return network.alone(network.collective(CollectiveKind::all_to_all, gpus, bytes, path, routed), path);
        };
        EXPECT_NEAR(seconds(&once) / (bytes * (1 / dispatch + 1 / combine) / 2), 1, 0.2) << ranks;
        EXPECT_NEAR((seconds(&once) - seconds(nullptr)) / (tokens * hardware::token_exchange_seconds), 1, 1e-6);
    }
}

/// Of a node's data, all-to-all sends what other nodes' ranks get.
TEST_F(NetworkTest, AllToAllLeavesTheNodeWithTheOthersShare) {
    EXPECT_DOUBLE_EQ(transfer(CollectiveKind::all_to_all, group(2, 8), mebibyte).bytes, 8 * mebibyte / 2);
}

TEST_F(NetworkTest, NothingIsFasterThanTheNics) {
    for (const CollectiveKind kind : kinds)
        for (const std::uint32_t per_node : {1U, 4U, 8U})
            for (const double bytes : {8.0, 1e5, 1e7, 1e9}) {
                const std::uint32_t ranks = 4 * per_node;
                const double wire = kind == CollectiveKind::all_to_all ? bytes * (ranks - per_node) / ranks * per_node
                                                                       : kernels::bus_factor(kind, ranks) * bytes;
                EXPECT_GE(seconds(kind, group(4, per_node), bytes), wire / (per_node * nic)) << kernels::name(kind);
            }
}

TEST_F(NetworkTest, TimeGrowsWithBytes) {
    for (const CollectiveKind kind : kinds)
        for (const auto& gpus : {group(1, 8), group(4, 1), group(4, 8)}) {
            double before = 0;
            for (double bytes = 4; bytes < 1e10; bytes *= 1.7) {
                const double now = seconds(kind, gpus, bytes);
                EXPECT_GE(now, before * (1 - 1e-12)) << kernels::name(kind) << " " << bytes;
                before = now;
            }
        }
}

/// One byte more takes no more than a byte's time, also where protocols and tables change.
TEST_F(NetworkTest, TimeDoesNotJump) {
    for (const CollectiveKind kind : kinds)
        for (const auto& gpus : {group(1, 8), group(4, 1), group(4, 8)})
            for (const double bytes : {4096.0, 65536.0, mebibyte, 16 * mebibyte})
                EXPECT_NEAR(seconds(kind, gpus, bytes), seconds(kind, gpus, bytes - 1), 1e-8) << kernels::name(kind);
}

TEST_F(NetworkTest, MoreNodesAreNeverFaster) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::broadcast})
        for (const std::uint32_t per_node : {1U, 8U})
            for (const double bytes : {1e3, 1e6, 1e9}) {
                double before = 0;
                for (const std::uint32_t nodes : {1U, 2U, 3U, 4U, 8U}) {
                    if (nodes * per_node == 1) continue;
                    const double now = seconds(kind, group(nodes, per_node), bytes);
                    EXPECT_GE(now, before) << kernels::name(kind) << " " << nodes << " x " << per_node << " " << bytes;
                    before = now;
                }
            }
}

/// Eight rings leave a node through its eight NICs: each carries an eighth.
TEST_F(NetworkTest, CollectivesOfWholeNodesUseEveryNic) {
    std::uint32_t nics = 0;
    for (const LinkUse& use : network.path(group(4, 8)))
        if (cluster.link(use.link).tier == 1) {
            ++nics;
            EXPECT_DOUBLE_EQ(use.weight, 1.0 / 8);
        }
    EXPECT_EQ(nics, 2 * 4 * 8U) << "up and down";
    const auto bus_rate = [&](std::uint32_t per_node) {
        const double bytes = 4096 * mebibyte;
        return kernels::bus_factor(CollectiveKind::all_reduce, 4 * per_node) * bytes /
               seconds(CollectiveKind::all_reduce, group(4, per_node), bytes);
    };
    EXPECT_GT(bus_rate(8), 4 * nic);
    EXPECT_LE(bus_rate(8), 8 * nic);
    EXPECT_LE(bus_rate(1), nic);
}

TEST_F(NetworkTest, TheHopsOfACollectiveMakeARing) {
    const auto hops = network.hops(group(3, 2));
    ASSERT_EQ(hops.size(), 6U);
    for (const Network::Hop& hop : hops) {
        EXPECT_EQ((cluster.node_of(hop.from) + 1) % 3, cluster.node_of(hop.to));
        EXPECT_EQ(hop.from % 8, hop.to % 8) << "rails stay apart";
        EXPECT_DOUBLE_EQ(hop.share, 0.5);
    }
    EXPECT_TRUE(network.hops(group(1, 8)).empty());
}

TEST_F(NetworkTest, MessagesCrossLinksOnlyBetweenNodes) {
    EXPECT_TRUE(network.path(0, 7).empty());
    EXPECT_EQ(network.message(0, 7, mebibyte).bytes, 0) << "its time is its latency";
    EXPECT_GT(network.message(0, 7, 100 * mebibyte).latency, network.message(0, 7, mebibyte).latency);
    EXPECT_FALSE(network.path(0, 8).empty());
    EXPECT_EQ(network.message(0, 8, mebibyte).bytes, mebibyte);
    const Transfer message = network.message(0, 8, 100 * mebibyte);
    EXPECT_NEAR(network.alone(message, network.path(0, 8)), message.latency + 100 * mebibyte / nic, 1e-12);
}

TEST_F(NetworkTest, OneRankMovesNothing) {
    EXPECT_EQ(seconds(CollectiveKind::all_reduce, {3}, mebibyte), 0);
    EXPECT_EQ(network.explain(CollectiveKind::all_reduce, std::vector<GpuId>{3}, 8), "one rank: nothing to move");
}

TEST_F(NetworkTest, ProtocolsFollowTheSize) {
    EXPECT_NE(network.explain(CollectiveKind::all_reduce, group(8, 8), 1024).find("tree with LL,"), std::string::npos);
    EXPECT_NE(network.explain(CollectiveKind::all_reduce, group(8, 8), 4096 * mebibyte).find("ring with Simple"),
              std::string::npos);
}

TEST(NcclTuning, LatenciesAreThoseOfItsModel) {
    const Machine machine{.generation = Machine::Generation::hopper, .post_seconds = 1e-6};
    const auto find = [&](CollectiveKind kind, const char* name, Protocol protocol) {
        const Algorithm& algorithm = find_algorithm(name, kind);
        const Shape shape{16, 2};
        return latency_seconds(algorithm, protocol, kind, algorithm.outline(kind, shape), shape, machine);
    };
    // base 6.8 + 2 (7 local steps of 0.6 + 1 level of 5)
    EXPECT_NEAR(find(CollectiveKind::all_reduce, "tree", Protocol::ll), 25.2e-6, 1e-12);
    // base 6.6 + 28 local steps of 1 + 2 steps of 2.7
    EXPECT_NEAR(find(CollectiveKind::all_reduce, "ring", Protocol::ll), 40.0e-6, 1e-12);
    // 1.4 (base 8.4 + 30 - 2 local steps of 3.4 + 2 steps of 14)
    EXPECT_NEAR(find(CollectiveKind::all_reduce, "ring", Protocol::simple), 1.4 * (8.4 + 28 * 3.4 + 28) * 1e-6, 1e-12);
    EXPECT_NEAR(find(CollectiveKind::all_gather, "ring", Protocol::simple), (8.4 + 14 * 3.4 + 14) * 1e-6, 1e-12);
    EXPECT_NEAR(send_latency_seconds(machine), 22.4e-6, 1e-12);
}

TEST(NcclTuning, SlowerNetworksCostTheirLatency) {
    const auto cluster = topology::build({.preset = "efa", .nodes = 2});
    const Machine machine = machine_of(cluster, 0, 8);
    EXPECT_NEAR(machine.extra_latency_seconds, cluster.latency_seconds(0, 8) - 2.7e-6, 1e-12);
    EXPECT_TRUE(machine.simple_only);
    EXPECT_EQ(machine_of(cluster, 0, 1).extra_latency_seconds, 0) << "inside a node";
}

/// Rings of kernels/tcp: a word that the next rank is there, then 2 (n - 1) messages of a part each.
TEST(HostNetwork, PricesRingsOfMessages) {
    calibrate::Profile profile = profiles().find("a100").profile();
    profile.constants["host_message_seconds"] = {1e-4, "s", "test"};
    const calibrate::Predictor predictor(profile);
    const auto cluster = topology::build({.preset = "cpu-hosts", .nodes = 4, .gpus_per_node = 1});
    const Network network(cluster, predictor);
    const std::vector<GpuId> all{0, 1, 2, 3};
    const double launch = predictor.constant("collective_launch_seconds");
    for (const double bytes : {4.0, 4e6}) {
        const Transfer sum = network.collective(CollectiveKind::all_reduce, all, bytes, network.path(all));
        EXPECT_NEAR(sum.latency, launch + 7e-4, 1e-12);
        EXPECT_NEAR(sum.bytes, 1.5 * bytes, 1e-6) << "no tree, and no flags beside the data";
        const Transfer gather = network.collective(CollectiveKind::all_gather, all, bytes, network.path(all));
        EXPECT_NEAR(gather.latency, launch + 4e-4, 1e-12);
    }
    EXPECT_NEAR(network.message(0, 1, 1e6).latency, launch + 2e-4, 1e-12);
}

/// A profile that measured what its network carries goes before the arithmetic of frames.
TEST(Payload, IsTheAdaptersUnlessTheProfileMeasuredIt) {
    const auto cluster = topology::build({.preset = "superpod-a100", .nodes = 4});
    calibrate::Profile profile = profiles().find("a100").profile();
    const calibrate::Predictor published(profile);
    EXPECT_EQ(Kinds(cluster, published).payload_share(), hardware::infiniband_adapter.payload_share);
    const auto ethernet = topology::build({.preset = "ethernet", .nodes = 4});
    EXPECT_EQ(Kinds(ethernet, published).payload_share(), hardware::roce_adapter.payload_share);
    profile.constants["network_efficiency"] = {0.8, "1", "measured in a test"};
    const calibrate::Predictor measured(profile);
    EXPECT_EQ(Kinds(cluster, measured).payload_share(), 0.8);
}

/// A table of just such a group is what it takes; the links are shared as by any other transfer.
TEST(MeasuredAmongNodes, StandsForItsGroupAlone) {
    calibrate::Profile profile = profiles().find("a100").profile();
    const std::vector<calibrate::CollectivePoint> points{{1e3, 5e-5}, {1e6, 4e-4}, {1e9, 3e-1}};
    profile.collectives.push_back({CollectiveKind::all_reduce, 4, profile.collectives[0].provenance, points, 2});
    profile.collectives.push_back({CollectiveKind::send_recv, 2, profile.collectives[0].provenance, points, 2});
    const calibrate::Predictor predictor(profile), published(profiles().find("a100").profile());
    const auto cluster = topology::build({.preset = "superpod-a100", .nodes = 4});
    const Network network(cluster, predictor), model(cluster, published);
    const double launch = predictor.constant("collective_launch_seconds");
    const auto seconds = [&](const Network& of, const std::vector<GpuId>& gpus, double bytes) {
        const auto path = of.path(gpus);
        return of.alone(of.collective(CollectiveKind::all_reduce, gpus, bytes, path), path);
    };
    const std::vector<GpuId> measured{0, 1, 8, 9}, elsewhere{16, 17, 24, 25}, uneven{0, 1, 2, 8}, other{0, 8};
    for (const auto& [bytes, time, half_width] : points) {
        EXPECT_NEAR(seconds(network, measured, bytes), launch + time, 1e-9 * time);
        EXPECT_NEAR(seconds(network, elsewhere, bytes), launch + time, 1e-9 * time);
        for (const auto& group : {uneven, other})
            EXPECT_EQ(seconds(network, group, bytes), seconds(model, group, bytes));
        const auto path = network.path(0, 8);
        EXPECT_NEAR(network.alone(network.message(0, 8, bytes), path), launch + time, 1e-9 * time);
    }
    const Transfer transfer = network.collective(CollectiveKind::all_reduce, measured, 1e9, network.path(measured));
    EXPECT_GT(transfer.bytes, 1e9) << "what others on the same links see of it";
    EXPECT_NE(network.explain(CollectiveKind::all_reduce, measured, 1e6).find("measured so"), std::string::npos);
}

/// Among whole nodes what a plan insists on takes what `orrery collective --algorithm` says of it alone.
TEST_F(NetworkTest, InsistedAlgorithmsAreThoseOfTheTimer) {
    const auto gpus = group(4, 8);
    CollectiveTimer timer(cluster, profiles().find("a100"), Group(gpus, 8));
    const double launch = profiles().find("a100").constant("collective_launch_seconds");
    const auto held = [&](CollectiveKind kind, const char* name, double bytes) {
        const Algorithm& algorithm = find_algorithm(name, kind);
        const Network insists(cluster, profiles().find("a100"), {&algorithm, &algorithm});
        const auto path = insists.path(gpus);
        const double alone = timer.seconds(kind, bytes, {&algorithm, {}});
        EXPECT_NEAR(insists.alone(insists.collective(kind, gpus, bytes, path), path), launch + alone, 0.01 * alone)
            << name << ' ' << bytes;
    };
    for (const double bytes : {1e4, 1e6, 64e6, 2e9}) {
        for (const char* name : {"ring", "tree", "hierarchical"}) held(CollectiveKind::all_reduce, name, bytes);
        for (const char* name : {"direct", "pxn", "hierarchical"}) held(CollectiveKind::all_to_all, name, bytes);
    }
}

TEST_F(NetworkTest, WhereNodesHaveUnequalPartsThereIsNoHierarchy) {
    const Algorithm& hierarchical = find_algorithm("hierarchical", CollectiveKind::all_reduce);
    const Network insists(cluster, profiles().find("a100"), {&hierarchical, &hierarchical});
    std::vector<GpuId> uneven = group(2, 8);
    uneven.pop_back();
    const auto path = network.path(uneven);
    const Transfer usual = network.collective(CollectiveKind::all_reduce, uneven, 1e8, path),
                   asked = insists.collective(CollectiveKind::all_reduce, uneven, 1e8, path);
    EXPECT_EQ(asked.latency, usual.latency);
    EXPECT_EQ(asked.bytes, usual.bytes);
}

/// In a step: all-reduces of data ranks over two nodes one phase behind the other, and experts' exchanges over them.
TEST(InsistedAlgorithms, AStepTakesThem) {
    const auto seconds = [](const char* strategy, const char* with) {
        nlohmann::json patch = nlohmann::json::parse(strategy);
        patch["strategy"].update(nlohmann::json::parse(with));
        return quick(small_scenario(patch.dump())).step_time_s;
    };
    constexpr const char* data = R"({"cluster": {"preset": "dgx-a100", "nodes": 2},
        "strategy": {"tensor": 1, "pipeline": 1, "data": 16}})";
    const double chosen = seconds(data, "{}"), ring = seconds(data, R"({"all_reduce_algorithm": "ring"})"),
                 tree = seconds(data, R"({"all_reduce_algorithm": "tree"})"),
                 hierarchical = seconds(data, R"({"all_reduce_algorithm": "hierarchical"})");
    EXPECT_LE(chosen, std::min(ring, tree) * (1 + 1e-9)) << "NCCL takes the quickest of these";
    EXPECT_GT(hierarchical, chosen);
    EXPECT_NE(ring, tree);
}

/// Behind every backward: an all_reduce moves each gradient twice, reduces n / (n - 1) times as much as a scatter.
TEST(GradReduceCollectives, AStepTakesThem) {
    const auto seconds = [](const char* by) {
        nlohmann::json patch = nlohmann::json::parse(R"({"cluster": {"preset": "dgx-a100", "nodes": 2},
            "strategy": {"tensor": 1, "pipeline": 1, "data": 16, "sharding": "zero2"}})");
        patch["strategy"]["grad_reduce_collective"] = by;
        return quick(small_scenario(patch.dump())).step_time_s;
    };
    EXPECT_GT(seconds("reduce"), seconds("reduce_scatter"));
    EXPECT_GT(seconds("all_reduce"), seconds("reduce"));
}

/// vTrain's sweeps of V100 are a DGX-1's, NVIDIA's of A100 a DGX A100's; nodes that are wired otherwise carry them on
/// their own links.
TEST(CollectivesInsideANode, TakeTheLinksOfTheirNode) {
    const auto seconds = [](const char* preset, const char* profile, std::uint32_t ranks) {
        return collective_seconds({.preset = preset, .nodes = 1}, profile, CollectiveKind::all_reduce, ranks, 4e9);
    };
    EXPECT_NEAR(seconds("v100-4", "v100", 4) / seconds("dgx-1v", "v100", 4), 4.0 / 6, 0.01);
    EXPECT_NEAR(seconds("v100-4", "v100", 2) / seconds("dgx-1v", "v100", 2), 1.0 / 2, 0.01);
    EXPECT_NEAR(seconds("dgx-2", "v100-sxm3", 2) / seconds("dgx-1v", "v100-sxm3", 2), 1.0 / 6, 0.01);
    EXPECT_NEAR(seconds("hgx-a100-4", "a100", 2) / seconds("dgx-a100", "a100", 2), 3, 0.03);
    EXPECT_NEAR(seconds("hgx-a100-4", "a100", 4) / seconds("dgx-a100", "a100", 4), 1, 0.01);
    EXPECT_NEAR(seconds("hgx-h200-4", "h200", 2) / seconds("hgx-h200", "h200", 2), 3, 0.03);
    EXPECT_NEAR(seconds("gh200-4", "h100", 4) / seconds("dgx-h100", "h100", 4), 1, 0.01);
    // BigScience, experiments/bandwidth: 4 GB among four V100 of Jean Zay took 48.1 and 48.5 ms.
    EXPECT_NEAR(seconds("v100-4", "v100", 4) / 48.3e-3, 1, 0.05);
}

TEST(CollectivesInsideANode, TablesSayTheLinksOfTheirNode) {
    const auto expect_links = [](const char* profile, const char* node) {
        const topology::NodeSpec& spec = topology::find_node(node);
        const topology::NodePlan plan = topology::build_node(spec, spec.gpus, spec.nics);
        for (const auto& table :
             calibrate::load_profile(fmt::format("scenarios/profiles/{}.json", profile)).collectives)
            EXPECT_EQ(table.nvlink_bytes_per_second, plan.ring_bytes_per_second(table.ranks)) << node << table.ranks;
    };
    expect_links("v100", "dgx-1v");
    expect_links("v100-sxm3", "dgx-1v");
    expect_links("a100", "dgx-a100");
}

TEST(CollectiveSeconds, RefusesMoreRanksThanThereAre) {
    EXPECT_THROW((void)collective_seconds({.preset = "superpod-a100", .nodes = 2}, "", CollectiveKind::all_reduce, 17,
                                          mebibyte, profiles()),
                 std::runtime_error);
    EXPECT_GT(collective_seconds({.preset = "superpod-a100", .nodes = 2}, "", CollectiveKind::all_reduce, 16, mebibyte,
                                 profiles()),
              0);
}

}  // namespace
}  // namespace orrery::sim
