// Graphs of nodes, replayed: who waits for whom, what shares what, and where the time goes.
#include "sim/graph_replay.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.hpp"
#include "calibrate/profile_store.hpp"
#include "sim/network.hpp"
#include "sim/predict.hpp"
#include "sim/work_times.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using strategies::GraphNode;
using strategies::StepGraph;
using Kind = GraphNode::Kind;

class Graphs : public testing::Test {
protected:
    Graphs() : cluster(topology::build(spec())), timing(profiles_of(cluster, "", profiles)), network(cluster, timing) {
        for (std::uint32_t rank = 0; rank < 16; ++rank) {
            step.graphs.emplace_back();
            step.ranks.push_back({"rank " + std::to_string(rank), rank, {0}});
        }
        step.groups.emplace_back(16);
        std::iota(step.groups[0].begin(), step.groups[0].end(), 0U);
    }
    static topology::ClusterSpec spec() {
        topology::ClusterSpec spec;
        spec.preset = "superpod-a100";
        spec.nodes = 2;
        return spec;
    }

    /// Ids are given one after the other.
    std::uint32_t add(std::uint32_t rank, GraphNode node, std::vector<std::uint32_t> waits = {}) {
        strategies::RankGraph& graph = step.graphs[rank];
        node.id = graph.nodes.size();
        node.first_wait = static_cast<std::uint32_t>(graph.waits.size());
        node.waits = static_cast<std::uint32_t>(waits.size());
        graph.waits.insert(graph.waits.end(), waits.begin(), waits.end());
        graph.nodes.push_back(node);
        return static_cast<std::uint32_t>(node.id);
    }
    static GraphNode kernel(double seconds) { return {.seconds = seconds, .kind = Kind::kernel}; }
    static GraphNode all_reduce(std::uint64_t bytes, std::uint32_t turn = 0) {
        return {.bytes = bytes, .turn = turn, .kind = Kind::collective};
    }
    static GraphNode message(Kind kind, std::int32_t peer, std::uint64_t bytes, std::uint32_t turn = 0) {
        return {.bytes = bytes, .peer = peer, .turn = turn, .kind = kind};
    }
    GraphReplayed run(const GraphOptions& options = {}) {
        strategies::check(step);
        GraphReplayed ran = replay_graph(step, cluster, timing, options);
        for (const RankUse& rank : ran.ranks)
            EXPECT_NEAR(std::accumulate(rank.seconds.begin(), rank.seconds.end(), 0.0), ran.seconds,
                        1e-12 * ran.seconds)
                << "each moment counts once";
        return ran;
    }

    calibrate::ProfileStore profiles;
    topology::Cluster cluster;
    Profiles timing;
    Network network;
    StepGraph step;
};

TEST_F(Graphs, NodesWaitAndKernelsRunOneByOne) {
    const auto first = add(0, kernel(1));
    add(0, kernel(2), {first});
    add(0, kernel(4));  // ready at once, behind the first on the device and before the second
    add(0, {.seconds = 16, .kind = Kind::host});
    add(0, {.kind = Kind::nothing}, {first});
    add(1, kernel(3));
    const GraphReplayed ran = run();
    EXPECT_DOUBLE_EQ(ran.seconds, 16);
    EXPECT_DOUBLE_EQ(ran.ranks[0].seconds[RankUse::kernels], 7);
    EXPECT_DOUBLE_EQ(ran.ranks[0].seconds[RankUse::host], 9) << "beside kernels it does not count";
    EXPECT_DOUBLE_EQ(ran.ranks[1].seconds[RankUse::idle], 13);
    EXPECT_DOUBLE_EQ(ran.ranks[1].end, 3);
    EXPECT_EQ(ran.recorded, 4U);
}

TEST_F(Graphs, CollectivesBeginWhenAllAreThere) {
    constexpr double mib = 1 << 20;
    const auto& all = step.groups[0];
    const auto path = network.path(all);
    const double alone = network.alone(
        network.collective(kernels::CollectiveKind::all_reduce, all, 64 * mib, network.tightest(path)), path);
    for (std::uint32_t rank = 0; rank < 16; ++rank) add(rank, all_reduce(64 << 20), {add(rank, kernel(rank))});
    const GraphReplayed ran = run();
    EXPECT_NEAR(ran.seconds, 15 + alone, 1e-9);
    EXPECT_NEAR(ran.ranks[3].seconds[RankUse::waiting], 12, 1e-9);
    EXPECT_NEAR(ran.ranks[3].seconds[RankUse::communication], alone, 1e-9);
    ASSERT_EQ(ran.transfers.size(), 1U);
    EXPECT_EQ(ran.transfers[0].ranks, 16U);
    EXPECT_EQ(ran.transfers[0].nodes, 2U);
    EXPECT_NEAR(ran.transfers[0].waited, 7.5, 1e-9);
    EXPECT_NEAR(ran.transfers[0].seconds, alone, 1e-9);
}

TEST_F(Graphs, ACommunicatorsCollectivesRunOneAfterTheOther) {
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        add(rank, all_reduce(64 << 20, 0));
        add(rank, all_reduce(64 << 20, 1));
    }
    const double both = run().seconds;
    for (std::uint32_t rank = 0; rank < 16; ++rank) {
        step.graphs[rank] = {};
        add(rank, all_reduce(64 << 20, 0));
    }
    EXPECT_NEAR(both, 2 * run().seconds, 1e-9);
}

TEST_F(Graphs, MessagesShareTheirLinks) {
    const auto seconds_of = [&](const std::vector<std::uint32_t>& senders) {
        for (std::uint32_t rank = 0; rank < 16; ++rank) step.graphs[rank] = {};
        std::uint32_t turn = 0;
        for (const std::uint32_t sender : senders) {
            add(sender, message(Kind::send, 8, 256 << 20, turn));
            add(sender + 8, message(Kind::receive, -8, 256 << 20, turn));
            if (senders.front() == senders.back()) ++turn;
        }
        return run().seconds;
    };
    const double alone = seconds_of({0});
    EXPECT_NEAR(seconds_of({0, 1}), alone, 1e-6 * alone) << "each GPU has a NIC of its own";
    EXPECT_NEAR(seconds_of({0, 0}), 2 * alone, 0.01 * alone) << "both over one NIC";
}

TEST_F(Graphs, KernelsWithoutATimeTakeThatOfTheirWork) {
    GraphNode product = kernel(0);
    product.flops = 2.0 * 4096 * 4096 * 4096;
    add(0, product);
    const double seconds = run().seconds;
    EXPECT_GT(product.flops / seconds, 0.5 * 312e12) << "of an A100's bf16 peak";
    EXPECT_LT(product.flops / seconds, 312e12);
    step.graphs[0].nodes[0].seconds = 1;
    EXPECT_DOUBLE_EQ(run().seconds, 1) << "as recorded";
    EXPECT_DOUBLE_EQ(run({.by_work = true}).seconds, seconds);
    step.graphs[0].nodes[0] = {.bytes = 1 << 30, .kind = Kind::kernel};
    const double rate = (1 << 30) / run().seconds;
    EXPECT_GT(rate, 0.6 * 2.0e12);
    EXPECT_LT(rate, 2.1e12);
}

TEST_F(Graphs, WorkTakesNoLessWhereThereIsMoreOfIt) {
    WorkTimes times(network.kinds(), kernels::Dtype::bf16, 8);
    EXPECT_EQ(times.seconds(0, 0, 0), 0);
    double last = 0;
    for (double flops = 1; flops < 1e19; flops *= 3) {
        const double seconds = times.seconds(0, flops, 0);
        EXPECT_GE(seconds, 0.8 * last) << flops << ": published tables have larger products that take less";
        last = seconds;
    }
    for (double bytes = 1; bytes < 1e14; bytes *= 7) EXPECT_GE(times.seconds(0, 1e9, bytes), times.seconds(0, 1e9, 0));
}

TEST_F(Graphs, RanksThatWaitForEachOtherAreNamed) {
    add(2, message(Kind::receive, 1, 10), {});
    add(2, message(Kind::send, 1, 10), {0});
    add(3, message(Kind::receive, -1, 10), {});
    add(3, message(Kind::send, -1, 10), {0});
    try {
        (void)run();
        ADD_FAILURE() << "neither can send before it has received";
    } catch (const Error& error) {
        EXPECT_EQ(error.file(), "rank 2");
        for (const char* word : {"deadlock", "node 0", "rank 3", "from rank 2"})
            EXPECT_NE(error.message().find(word), std::string::npos) << error.message();
        EXPECT_FALSE(error.hint().empty());
    }
}

TEST_F(Graphs, MoreRanksThanGpusAreRefused) {
    step.graphs.emplace_back();
    step.ranks.push_back({"rank 16", 16, {}});
    EXPECT_THROW((void)run(), Error);
}

}  // namespace
}  // namespace orrery::sim
