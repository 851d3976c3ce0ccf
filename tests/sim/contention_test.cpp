// What kernels lose beside collectives, by where these go.
#include "sim/contention.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "hardware/gpu.hpp"
#include "tests/sim/bench.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {
namespace {

topology::Cluster two_nodes(const char* preset, std::uint32_t nics) {
    topology::ClusterSpec spec;
    spec.preset = preset;
    spec.nodes = 2;
    spec.nics_per_node = nics;
    return topology::build(spec);
}

/// The first ranks of each of the first nodes.
std::vector<topology::GpuId> ranks(const topology::Cluster& cluster, std::uint32_t nodes, std::uint32_t of_each) {
    std::vector<topology::GpuId> gpus;
    for (std::uint32_t node = 0; node < nodes; ++node)
        for (std::uint32_t rank = 0; rank < of_each; ++rank) gpus.push_back(node * cluster.gpus_per_node() + rank);
    return gpus;
}

struct Lost {
    const char* profile;
    topology::Cluster cluster;
    Network network{cluster, profiles().find(profile)};
    [[nodiscard]] Contention beside(std::uint32_t nodes, std::uint32_t of_each) const {
        return contention_of(network, ranks(cluster, nodes, of_each), cluster.gpu(), profiles().find(profile));
    }
    [[nodiscard]] double least() const { return least_contention(network, cluster.gpu(), profiles().find(profile)); }
};

/// What was read on an H100: 47% of the peak instead of 80% while 24 channels run, which are 24 of 132 multiprocessors.
TEST(Contention, InsideANodeIsWhatWasRead) {
    const Lost h100{"h100", two_nodes("dgx-h100", 8)};
    const Contention lost = h100.beside(1, 8);
    EXPECT_NEAR(lost.whole, 1 - 47.0 / 80, 1e-12);
    EXPECT_NEAR(lost.traffic, 1 - 47.0 / 80 * 132 / 108, 1e-12);
    const Lost a100{"a100", two_nodes("dgx-a100", 8)};
    EXPECT_NEAR(a100.beside(1, 4).whole, 1 - 1.18 / 2.08, 1e-12) << "whoever takes part";
}

/// RCCL takes 56 of an MI300X's 304 compute units, and eight of the 110 of a die of MI250X: the rest of what a product
/// loses there is the traffic's.
TEST(Contention, OnInstinctIsOfRcclsChannels) {
    const auto traffic = [](const char* profile, const char* preset, double share_left) {
        const Lost of{profile, two_nodes(preset, 0)};
        const Contention lost = of.beside(1, 8);
        EXPECT_NEAR(lost.whole, 1 - 1.21 / 2, 1e-12) << preset;
        EXPECT_NEAR(lost.traffic, 1 - 1.21 / 2 / share_left, 1e-12) << preset;
    };
    traffic("mi300x", "mi300x", 248.0 / 304);
    traffic("mi250x", "frontier", 102.0 / 110);
}

TEST(Contention, AmongNodesGrowsWithTheNicsThatAreUsed) {
    double last = 0;
    for (const std::uint32_t nics : {1U, 2U, 4U, 8U}) {
        const Lost h100{"h100", two_nodes("dgx-h100", nics)};
        const Contention all = h100.beside(2, 8), one = h100.beside(2, 1);
        EXPECT_GT(all.whole, last) << nics;
        EXPECT_LE(all.whole, h100.beside(1, 8).whole);
        EXPECT_LE(one.whole, all.whole);
        EXPECT_LT(one.traffic, one.whole);
        EXPECT_LE(h100.least(), one.traffic);
        last = all.whole;
    }
}

/// Two channels of one NIC of 50 GB/s, where NVLink carries 450.
TEST(Contention, OfOneRankANodeIsTwoChannelsAndWhatItsNicCarries) {
    const Lost h100{"h100", two_nodes("dgx-h100", 8)};
    const double traffic = 1 + (80.0 / 47 * 108 / 132 - 1) * 50 / 450;
    EXPECT_NEAR(h100.beside(2, 1).traffic, 1 - 1 / traffic, 1e-12);
    EXPECT_NEAR(h100.beside(2, 1).whole, 1 - 1 / (traffic * 132 / 130), 1e-12);
}

/// A core does both, one after the other.
TEST(Contention, OnACoreIsTheOthersWholeTime) {
    topology::ClusterSpec spec;
    spec.preset = "cpu-hosts";
    const Lost cores{"cpu", topology::build(spec)};
    EXPECT_EQ(cores.beside(1, 2).whole, 1);
    EXPECT_EQ(cores.beside(1, 2).traffic, 1);
    EXPECT_EQ(cores.least(), 1);
}

/// Reductions beside layers of an H100 node: kernels wait for them no more than they last.
TEST(Contention, LengthensAStepByLessThanTheCollectivesTake) {
    const auto step = [](const char* overlap) {
        return quick(
            small_scenario(std::string(R"({"cluster": {"preset": "dgx-h100", "nodes": 1}, "model": {"hidden_size": 4096,
            "num_attention_heads": 32}, "training": {"cuda_graph": true, "micro_batch_size": 4, "seq_length": 2048,
            "global_batch_size": 32}, "strategy": {"tensor": 1, "pipeline": 1, "data": 8, "overlap_grad_reduce": )") +
                           overlap + "}}"));
    };
    const Prediction beside = step("true"), behind = step("false");
    EXPECT_LT(beside.step_time_s, behind.step_time_s);
    EXPECT_GT(beside.stages.front().data_comm, (1 - 47.0 / 80) * 0.9 * behind.stages.front().data_comm);
}

}  // namespace
}  // namespace orrery::sim
