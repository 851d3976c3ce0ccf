#include "planning/sweep/grid.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/error.hpp"
#include "planning/sweep/sweep.hpp"

namespace orrery::planning {
namespace {

const char* const file = "scenarios/gpt-1.7b-dgx-a100.json";

Grid grid_of(const std::vector<std::string>& vary, const std::vector<scenarios::Override>& set = {}) {
    std::vector<Axis> axes;
    for (const std::string& text : vary) axes.push_back(parse_axis(text));
    return Grid(file, set, std::move(axes));
}

std::string refused(const std::string& vary) {
    try {
        (void)grid_of({vary});
        return "";
    } catch (const Error& error) {
        EXPECT_NE(error.hint(), "") << vary;
        return error.what();
    }
}

TEST(Grid, TheLastKeyVariesFastest) {
    const Grid grid = grid_of({"strategy.tensor=1,2", "training.micro_batch_size=1..4 x2"});
    EXPECT_EQ(grid.points(), 6U);
    EXPECT_EQ(grid.values(0), (std::vector<std::string>{"1", "1"}));
    EXPECT_EQ(grid.values(4), (std::vector<std::string>{"2", "2"}));
    const scenarios::Scenario scenario = grid.scenario(4);
    EXPECT_EQ(scenario.plan.strategy.tensor, 2U);
    EXPECT_EQ(scenario.plan.training.micro_batch, 2U);
}

TEST(Grid, GpusAreASizeOfTheClusterThatDataRanksFill) {
    const Grid grid = grid_of({"gpus=2,4,8,16,32"});
    EXPECT_TRUE(grid.over_gpus());
    const std::uint32_t expected[] = {2, 4, 8, 16, 32};
    for (std::uint64_t point = 0; point < grid.points(); ++point) EXPECT_EQ(grid.scenario(point).gpus, expected[point]);
    EXPECT_EQ(grid_of({"gpus=64"}, {{"strategy.data", "2"}}).scenario(0).plan.strategy.data, 2U);
}

TEST(Grid, GpusOfOtherNodesAreAmongThem) {
    const std::vector<scenarios::Override> mixed{{"cluster.preset", "dgx-a100"},
                                                 {"cluster.more_nodes", R"(["2 x H100"])"}};
    const scenarios::Scenario scenario = grid_of({"gpus=32"}, mixed).scenario(0);
    EXPECT_EQ(scenario.gpus, 32U);
    EXPECT_EQ(scenario.cluster.nodes, 2U) << "and two of the others";
    EXPECT_THROW((void)grid_of({"gpus=16"}, mixed).scenario(0), Error);
}

TEST(Grid, DataRanksFollowSizesThatAreVaried) {
    EXPECT_EQ(grid_of({"strategy.tensor=1,2,4"}).scenario(2).plan.strategy.data, 8U);
    EXPECT_EQ(grid_of({"cluster.nodes=1,2"}).scenario(1).plan.strategy.data, 16U);
    EXPECT_EQ(grid_of({"strategy.tensor=1,2"}, {{"strategy.data", "2"}}).scenario(1).plan.strategy.data, 2U);
    EXPECT_EQ(grid_of({"training.micro_batch_size=1,2"}).scenario(1).plan.strategy.data, 32U);
}

TEST(Grid, UnknownKeysAndRepeatedOnesAreRefusedBeforeTheWork) {
    EXPECT_NE(refused("strategy.tensr=1,2").find("the nearest known key is \"tensor\""), std::string::npos);
    EXPECT_NE(refused("straegy.tensor=1,2").find("unknown key"), std::string::npos);
    EXPECT_NE(refused("strategy.tensor").find("there is no '='"), std::string::npos);
    EXPECT_NE(refused("gpus=8 GPUs").find("is no number of GPUs"), std::string::npos);
    EXPECT_THROW((void)grid_of({"strategy.tensor=1", "strategy.tensor=2"}), Error);
}

TEST(Grid, MoreThanAnyoneWaitsForIsRefused) {
    try {
        (void)grid_of({"seed=1..10000 +1", "strategy.tensor=1..10000 +1", "strategy.pipeline=1..10000 +1"});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.message(), "more than 250000 points");
        EXPECT_NE(error.hint(), "");
    }
}

TEST(Grid, TheFingerprintIsThatOfEverythingThatDecides) {
    const std::string one = grid_of({"strategy.tensor=1,2"}).fingerprint();
    EXPECT_EQ(grid_of({"strategy.tensor=1,2"}).fingerprint(), one);
    EXPECT_NE(grid_of({"strategy.tensor=2,1"}).fingerprint(), one);
    EXPECT_NE(grid_of({"strategy.tensor=1,2"}, {{"seed", "2"}}).fingerprint(), one);
    EXPECT_NE(grid_of({"strategy.tensor=12"}).fingerprint(), one);
}

TEST(Sweep, EveryThreadCountGivesTheSameAnswers) {
    const Grid grid = grid_of({"strategy.tensor=1,2,3", "training.micro_batch_size=1,2"});
    calibrate::ProfileStore profiles;
    std::vector<Answer> first;
    for (const unsigned threads : {1U, 4U}) {
        Journal none("", {}, Journal::Start::go_on);
        std::atomic<std::size_t> done{0};
        const Sweep result = sweep(grid, profiles, none, crew_of(threads), [&] { ++done; });
        EXPECT_EQ(done, grid.points());
        if (first.empty()) first = result.answers;
        EXPECT_EQ(result.answers, first);
        ASSERT_EQ(result.best.size(), 4U);
        for (std::size_t i = 1; i < result.best.size(); ++i)
            EXPECT_GE(first[result.best[i - 1]].outcome.tokens_per_s, first[result.best[i]].outcome.tokens_per_s);
    }
    EXPECT_NE(first[4].problem.find("tensor 3 x pipeline 1 = 3 ranks do not divide"), std::string::npos)
        << first[4].problem;
    EXPECT_EQ(first[0].outcome, evaluate(grid.scenario(0), profiles));
}

TEST(Sweep, NoLegalPointIsAnErrorWithItsReason) {
    Journal none("", {}, Journal::Start::go_on);
    calibrate::ProfileStore profiles;
    try {
        (void)sweep(grid_of({"cluster.nic_rate=100..400 x2"}), profiles, none, crew_of(2), [] {});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/cluster/nic_rate");
        EXPECT_NE(error.hint(), "");
    }
}

}  // namespace
}  // namespace orrery::planning
