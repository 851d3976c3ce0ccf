// Replicas simulated as one until they meet, against each of them.
#include "sim/replicas.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/breakdown.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

constexpr double exact = 1e-12;

/// Twelve replicas of four stages on 48 nodes, whose groups of a stage lie in one, two or three scalable units.
scenarios::Scenario replicas(const std::string& strategy, std::uint32_t micro_batches) {
    const std::string plan = strategy.empty() ? "" : ", " + strategy;
    return small_scenario(fmt::format(
        R"({{"cluster": {{"nodes": 48, "routing": "minimal"}},
             "strategy": {{"tensor": 8, "pipeline": 4, "data": 12{}}},
             "training": {{"global_batch_size": {}}}}})",
        plan, 12 * micro_batches));
}

void expect_same(const scenarios::Scenario& scenario, bool as_one) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const calibrate::Predictor& predictor = profiles().find(scenario.profile);
    const RanStep all(scenario.plan, cluster, predictor), one(scenario.plan, cluster, predictor, {.few_spans = true});
    EXPECT_NEAR(one.seconds(), all.seconds(), exact * all.seconds());
    ASSERT_EQ(one.replayed.classes.size(), all.replayed.classes.size());
    std::size_t with_spans = 0;
    for (std::size_t i = 0; i < all.replayed.classes.size(); ++i) {
        EXPECT_NEAR(one.replayed.classes[i].end, all.replayed.classes[i].end, exact * all.seconds()) << i;
        if (!one.replayed.classes[i].spans.empty()) ++with_spans;
    }
    EXPECT_EQ(with_spans < all.replayed.classes.size(), as_one);
    for (std::uint32_t stage = 0; stage < all.program.programs.size(); ++stage) {
        const RankClass &mine = one.slowest(stage), &theirs = all.replayed.classes[&mine - one.replayed.classes.data()];
        ASSERT_EQ(mine.spans.size(), theirs.spans.size());
        for (std::size_t op = 0; op < mine.spans.size(); ++op) {
            EXPECT_NEAR(mine.spans[op].begin, theirs.spans[op].begin, exact * all.seconds()) << op;
            EXPECT_NEAR(mine.spans[op].end, theirs.spans[op].end, exact * all.seconds()) << op;
        }
        ASSERT_EQ(mine.data_waits.size(), theirs.data_waits.size());
        for (std::size_t i = 0; i < mine.data_waits.size(); ++i) {
            EXPECT_EQ(mine.data_waits[i].op, theirs.data_waits[i].op) << i;
            EXPECT_NEAR(mine.data_waits[i].seconds, theirs.data_waits[i].seconds, exact * all.seconds()) << i;
        }
    }
}

TEST(Replicas, AreOneUntilTheirGradientsMeet) {
    expect_same(replicas("", 8), true);
    expect_same(replicas(R"("overlap_grad_reduce": true, "bucket_size": "5 MB")", 8), true);
    expect_same(replicas(R"("schedule": "interleaved", "virtual_pipeline": 2)", 8), true);
    expect_same(replicas(R"("schedule": "zb-h1", "sharding": "zero1")", 12), true);
    expect_same(replicas(R"("schedule": "gpipe", "cpu_offloading_num_layers": 1)", 6), true);
}

TEST(Replicas, ThatMeetInEveryMicroBatchAreEachForItself) {
    expect_same(replicas(R"("sharding": "zero3")", 8), false);
    expect_same(replicas(R"("sharding": "zero1", "overlap_grad_reduce": true, "overlap_param_gather": true)", 8),
                false);
}

}  // namespace
}  // namespace orrery::sim
