#include "kernels/collective.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/error.hpp"

namespace orrery::kernels {
namespace {

using enum CollectiveKind;

TEST(BusFactor, IsThatOfNcclTests) {
    // doc/PERFORMANCE.md of nccl-tests, at 8 ranks.
    EXPECT_DOUBLE_EQ(bus_factor(all_reduce, 8), 1.75);
    EXPECT_DOUBLE_EQ(bus_factor(all_gather, 8), 0.875);
    EXPECT_DOUBLE_EQ(bus_factor(reduce_scatter, 8), 0.875);
    EXPECT_DOUBLE_EQ(bus_factor(all_to_all, 8), 0.875);
    EXPECT_DOUBLE_EQ(bus_factor(broadcast, 8), 1.0);
    EXPECT_DOUBLE_EQ(bus_factor(send_recv, 8), 1.0);
}

TEST(BusFactor, OfAnAllReduceIsThatOfItsTwoHalves) {
    for (const std::uint32_t ranks : {1u, 2u, 3u, 8u, 1024u, 100'000u})
        EXPECT_DOUBLE_EQ(bus_factor(all_reduce, ranks),
                         bus_factor(reduce_scatter, ranks) + bus_factor(all_gather, ranks))
            << ranks;
}

TEST(BusFactor, GrowsWithTheRanksTowardsItsLimit) {
    for (std::uint32_t ranks = 1; ranks < 200; ++ranks) {
        EXPECT_LT(bus_factor(all_gather, ranks), bus_factor(all_gather, ranks + 1));
        EXPECT_LT(bus_factor(all_gather, ranks), 1.0);
        EXPECT_LT(bus_factor(all_reduce, ranks), 2.0);
    }
}

TEST(BusFactor, IsZeroForOneRank) {
    for (int i = 0; i < collective_kinds; ++i) EXPECT_EQ(bus_factor(static_cast<CollectiveKind>(i), 1), 0.0);
}

TEST(CollectiveName, ReadsBackAndIsUnique) {
    std::set<std::string_view> names;
    for (int i = 0; i < collective_kinds; ++i) {
        const auto kind = static_cast<CollectiveKind>(i);
        EXPECT_EQ(collective_from(name(kind)), kind);
        EXPECT_TRUE(names.insert(name(kind)).second) << name(kind);
    }
}

TEST(CollectiveName, KnowsThoseOfNcclTests) {
    EXPECT_EQ(collective_from("alltoall"), all_to_all);
    EXPECT_EQ(collective_from("sendrecv"), send_recv);
}

TEST(CollectiveName, UnknownOnesAreRefusedWithTheKnown) {
    for (const std::string_view text : {"", "all-reduce", "ALL_REDUCE", "all_reduce ", "gather"}) {
        try {
            collective_from(text);
            ADD_FAILURE() << "accepted \"" << text << '"';
        } catch (const Error& error) {
            EXPECT_NE(error.message().find(text), std::string::npos);
            for (int i = 0; i < collective_kinds; ++i)
                EXPECT_NE(error.hint().find(name(static_cast<CollectiveKind>(i))), std::string::npos) << error.hint();
        }
    }
}

}  // namespace
}  // namespace orrery::kernels
