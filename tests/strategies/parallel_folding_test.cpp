// Expert groups of other ranks than those that share a sequence (Liu et al. 2025, arXiv:2504.14960).
#include <gtest/gtest.h>

#include "strategies/plan.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// Megatron-LM numbers ranks of experts tensor, expert, data: a group is of neighbours, however many of them share
/// sequences, and the parts of a sequence's ranks hold copies.
TEST(ParallelFolding, GroupsOfFewerRanksThanShareSequencesDivideThem) {
    Plan plan = moe_plan(2, 1, 4, 4);
    plan.training.fused_attention = true;
    plan.strategy.context = 8;
    plan.strategy.expert_tensor = 1;
    validate(plan);
    const Mesh mesh = plan.mesh();
    EXPECT_EQ(mesh.extent, (std::array<std::uint32_t, axes>{2, 1, 1, 1, 2, 4, 1, 4, 1, 1}));
    EXPECT_EQ(mesh.ranks(), plan.ranks());
    EXPECT_EQ(mesh.group(0, plan.expert_group()), (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(mesh.group(5, plan.context_group()), (std::vector<std::uint32_t>{1, 3, 5, 7, 9, 11, 13, 15}));
    EXPECT_EQ(mesh.group_size(plan.expert_group()) * mesh.group_size(plan.expert_data_group()), plan.ranks());
    const AxisSet all = plan.data_group() | AxisSet{Axis::tensor, Axis::expert};
    EXPECT_EQ((plan.expert_data_group() | plan.expert_group()), all);
    plan.strategy.expert_tensor = 2;  // each split over both tensor ranks: four neighbours of one tensor rank
    validate(plan);
    EXPECT_EQ(plan.mesh().group(1, plan.expert_group()), (std::vector<std::uint32_t>{1, 3, 5, 7}));
    plan.strategy.expert = 8;  // all that share a sequence
    EXPECT_EQ(plan.mesh().along(Axis::context_inner), 1U);
}

/// Neighbours that exchange heads lie along the same axis: they are those that divide the experts, or one of the two
/// divides none.
TEST(ParallelFolding, GroupsMeetThoseThatExchangeHeads) {
    Plan plan = moe_plan(1, 1, 4, 4);
    plan.training.fused_attention = true;
    plan.strategy.context = 4;
    plan.strategy.context_exchange = ContextExchange::a2a_p2p;
    plan.strategy.ulysses_degree = 2;
    validate(plan);
    plan.strategy.expert = 2;
    validate(plan);
    EXPECT_EQ(plan.mesh().group(0, plan.expert_group()), (std::vector<std::uint32_t>{0, 1}));
    plan.strategy.context = 8;
    plan.strategy.expert = 4;
    EXPECT_EQ(refused_at(plan), "/strategy/expert");
}

}  // namespace
}  // namespace orrery::strategies
