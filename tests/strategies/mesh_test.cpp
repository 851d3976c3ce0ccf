#include "strategies/mesh.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace orrery::strategies {
namespace {

constexpr std::array all_axes{Axis::tensor, Axis::context, Axis::expert, Axis::data, Axis::pipeline};

const Mesh mesh{{2, 1, 1, 1, 1, 3, 1, 4, 1, 5}};

TEST(Mesh, TensorVariesFastestAndPipelineSlowest) {
    EXPECT_EQ(mesh.ranks(), 120U);
    EXPECT_EQ(mesh.coordinate(1, Axis::tensor), 1U);
    EXPECT_EQ(mesh.coordinate(2, Axis::context), 1U);
    EXPECT_EQ(mesh.coordinate(6, Axis::data), 1U);
    EXPECT_EQ(mesh.coordinate(24, Axis::pipeline), 1U);
}

TEST(Mesh, CoordinatesGiveTheRankBack) {
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank) {
        std::uint32_t again = 0, stride = 1;
        for (const Axis axis : all_axes) {
            again += mesh.coordinate(rank, axis) * stride;
            stride *= mesh.along(axis);
        }
        EXPECT_EQ(again, rank);
    }
}

TEST(Mesh, PeersGoThereAndBack) {
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank)
        for (const Axis axis : all_axes)
            for (const std::int32_t delta : {-2, -1, 0, 1, 3}) {
                const std::uint32_t peer = mesh.peer(rank, axis, delta);
                EXPECT_EQ(mesh.peer(peer, axis, -delta), rank);
                for (const Axis other : all_axes)
                    EXPECT_TRUE(other == axis || mesh.coordinate(peer, other) == mesh.coordinate(rank, other));
            }
}

TEST(Mesh, APeerBeyondTheEndWrapsAround) {
    EXPECT_EQ(mesh.coordinate(mesh.peer(0, Axis::pipeline, -1), Axis::pipeline), 4U);
    EXPECT_EQ(mesh.peer(mesh.peer(0, Axis::pipeline, -1), Axis::pipeline, 1), 0U);
}

TEST(Mesh, GroupsPartitionTheRanks) {
    for (const AxisSet set :
         {AxisSet{}, AxisSet{Axis::tensor}, AxisSet{Axis::data}, AxisSet{Axis::tensor, Axis::pipeline},
          AxisSet{Axis::tensor, Axis::context, Axis::data, Axis::pipeline}}) {
        std::set<std::vector<std::uint32_t>> groups;
        for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank) {
            const auto group = mesh.group(rank, set);
            EXPECT_EQ(group.size(), mesh.group_size(set));
            EXPECT_TRUE(std::is_sorted(group.begin(), group.end()));
            EXPECT_TRUE(std::binary_search(group.begin(), group.end(), rank));
            groups.insert(group);
        }
        EXPECT_EQ(groups.size() * mesh.group_size(set), mesh.ranks()) << to_text(set);
    }
}

TEST(Mesh, AGroupDiffersOnlyAlongItsAxes) {
    const auto group = mesh.group(77, {Axis::tensor, Axis::pipeline});
    for (const std::uint32_t rank : group) {
        EXPECT_EQ(mesh.coordinate(rank, Axis::data), mesh.coordinate(77, Axis::data));
        EXPECT_EQ(mesh.coordinate(rank, Axis::context), mesh.coordinate(77, Axis::context));
    }
}

/// Pairs of an even number of stages; beside all stages they are among these.
TEST(Mesh, OppositeStagesArePairs) {
    const Mesh even{{2, 1, 1, 1, 1, 1, 1, 3, 1, 4}};
    EXPECT_EQ(even.group(1, {Axis::opposite}), (std::vector<std::uint32_t>{1, 19}));
    EXPECT_EQ(even.group(19, {Axis::opposite}), (std::vector<std::uint32_t>{1, 19}));
    EXPECT_EQ(even.group(12, {Axis::data, Axis::opposite}), (std::vector<std::uint32_t>{6, 8, 10, 12, 14, 16}));
    EXPECT_TRUE(even.leads(6, {Axis::data, Axis::opposite}));
    EXPECT_FALSE(even.leads(12, {Axis::data, Axis::opposite}));
    for (const AxisSet set : {AxisSet{Axis::opposite}, AxisSet{Axis::tensor, Axis::opposite}}) {
        std::set<std::vector<std::uint32_t>> groups;
        for (std::uint32_t rank = 0; rank < even.ranks(); ++rank) groups.insert(even.group(rank, set));
        EXPECT_EQ(groups.size() * even.group_size(set), even.ranks()) << to_text(set);
    }
    EXPECT_EQ(even.group(5, {Axis::pipeline, Axis::opposite}), even.group(5, {Axis::pipeline}));
    EXPECT_EQ(even.group_size({Axis::pipeline, Axis::opposite}), 4U);
    EXPECT_EQ((Mesh{{2, 1, 1, 1, 1, 1, 1, 3, 1, 1}}).group_size({Axis::opposite}), 1U);
}

TEST(Mesh, SetsAreNamedByTheirAxes) {
    EXPECT_EQ(to_text(AxisSet{Axis::pipeline, Axis::tensor}), "tensor+pipeline");
    EXPECT_EQ(to_text(Axis::expert), "expert");
    EXPECT_EQ(to_text(AxisSet{}), "");
}

}  // namespace
}  // namespace orrery::strategies
