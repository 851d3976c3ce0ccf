// Which GPU each rank runs on: layouts by name, axis orders, and what is refused.
#include "strategies/rank_placement.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/error.hpp"

namespace orrery::strategies {
namespace {

constexpr Mesh mesh{{2, 1, 1, 1, 1, 1, 1, 3, 1, 2}};  // 12 ranks

std::vector<std::uint32_t> table(const RankPlacement& placement, std::uint32_t ranks) {
    std::vector<std::uint32_t> gpus;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) gpus.push_back(placement.gpu(rank));
    return gpus;
}

using List = std::vector<std::uint32_t>;

TEST(RankPlacement, LinearIsStoredAsNothing) {
    EXPECT_TRUE(RankPlacement().linear());
    EXPECT_TRUE(RankPlacement(List{0, 1, 2}).linear());
    EXPECT_EQ(RankPlacement(), RankPlacement(List{0, 1, 2}));
    for (const char* name : {"linear", "row", "tp-dp-pp", "tensor-context-expert-data-pipeline", "tp-cp-ep-dp-pp"})
        EXPECT_TRUE(named_placement(name, mesh, {2, 6}).linear()) << name;
    EXPECT_TRUE(named_placement("average", mesh, {2, 6}).linear()) << "full nodes";
    EXPECT_EQ(RankPlacement().gpu(4'000'000'000U), 4'000'000'000U);
}

TEST(RankPlacement, MapsGroupsToGpusInAscendingOrder) {
    const RankPlacement placement(List{3, 2, 1, 0});
    EXPECT_EQ(placement.gpu(0), 3U);
    EXPECT_EQ(placement.gpus({0, 1, 3}), (List{0, 2, 3}));
    EXPECT_EQ(placement, RankPlacement(List{3, 2, 1, 0}));
    EXPECT_NE(placement, RankPlacement());
    EXPECT_NE(placement, RankPlacement(List{3, 2, 0, 1}));
}

TEST(RankPlacement, RoundRobinGoesFromNodeToNode) {
    EXPECT_EQ(table(named_placement("round_robin", mesh, {3, 4}), 12), (List{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
    EXPECT_EQ(named_placement("column", mesh, {3, 4}), named_placement("round_robin", mesh, {3, 4}));
    EXPECT_EQ(table(round_robin(5, {4, 2}), 5), (List{0, 2, 4, 6, 1})) << "some GPUs stay idle";
}

TEST(RankPlacement, AverageGivesEachNodeAsMany) {
    EXPECT_EQ(table(evenly(6, {3, 8}), 6), (List{0, 1, 8, 9, 16, 17}));
    EXPECT_EQ(table(evenly(7, {3, 8}), 7), (List{0, 1, 2, 8, 9, 16, 17}));
    EXPECT_EQ(table(evenly(2, {3, 8}), 2), (List{0, 8}));
}

/// Rank (t, d, p) of tensor 2 x data 3 x pipeline 2 is t + 2 d + 6 p.
TEST(RankPlacement, AnAxisOrderSaysWhichAxisVariesFastest) {
    const RankPlacement placement = named_placement("tp-pp-dp", mesh, {1, 12});
    for (std::uint32_t rank = 0; rank < 12; ++rank) {
        const std::uint32_t t = rank % 2, d = rank / 2 % 3, p = rank / 6;
        EXPECT_EQ(placement.gpu(rank), t + 2 * p + 4 * d) << rank;
    }
    EXPECT_EQ(placement, named_placement("tensor-pipeline-data", mesh, {1, 12}));
    EXPECT_EQ(placement, named_placement("tp-cp-ep-pp-dp", mesh, {1, 12})) << "Megatron-LM's --use-tp-pp-dp-mapping";
    EXPECT_EQ(to_text(parse_axis_order("pipeline-dp-tensor", mesh)), "pp-dp-tp");
}

TEST(RankPlacement, EveryOrderOfTheAxesOfSeveralRanksOnce) {
    std::set<std::string> orders;
    for (const AxisOrder& order : axis_orders(mesh)) {
        orders.insert(to_text(order));
        std::set<std::uint32_t> gpus;
        for (const std::uint32_t gpu : table(by_axes(mesh, order), 12)) gpus.insert(gpu);
        EXPECT_EQ(gpus.size(), 12U);
        EXPECT_EQ(*gpus.rbegin(), 11U);
    }
    EXPECT_EQ(orders, (std::set<std::string>{"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp"}));
    EXPECT_EQ(to_text(axis_orders(mesh).front()), "tp-dp-pp");
    EXPECT_EQ(axis_orders({{1, 1, 1, 1, 1, 1}}).size(), 1U);
}

TEST(RankPlacement, TensorGroupsInsideNodes) {
    EXPECT_TRUE(layer_groups_are_local(mesh, {}, 4));
    EXPECT_FALSE(layer_groups_are_local(mesh, {}, 3)) << "ranks 2 and 3 lie on two nodes";
    EXPECT_TRUE(layer_groups_are_local(mesh, named_placement("tp-pp-dp", mesh, {3, 4}), 4));
    EXPECT_FALSE(layer_groups_are_local(mesh, named_placement("round_robin", mesh, {3, 4}), 4));
}

void expect_refused(const std::function<void()>& code, const std::string& mention) {
    try {
        code();
        ADD_FAILURE() << "accepted; expected " << mention;
    } catch (const Error& error) {
        EXPECT_NE(error.message().find(mention), std::string::npos) << error.what();
        EXPECT_FALSE(error.hint().empty());
    }
}

TEST(RankPlacement, NonsenseIsRefused) {
    expect_refused([] { RankPlacement(List{0, 1, 0}); }, "ranks 0 and 2 are both on GPU 0");
    const auto order = [](const char* text) { return [text] { (void)parse_axis_order(text, mesh); }; };
    expect_refused(order(""), "\"\" is neither");
    expect_refused(order("best"), "\"best\" is neither a layout nor an axis");
    expect_refused(order("tp-dp-pp-"), "\"\" is neither");
    expect_refused(order("tp--dp-pp"), "\"\" is neither");
    expect_refused(order("tp-dp-dp-pp"), "names data twice");
    expect_refused(order("tp-tensor-pp"), "names tensor twice");
    expect_refused(order("tp-dp"), "leaves out pipeline, of 2 ranks");
    expect_refused([] { (void)named_placement("Linear", mesh, {1, 12}); }, "Linear");
}

}  // namespace
}  // namespace orrery::strategies
