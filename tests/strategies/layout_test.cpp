#include "strategies/layout.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;
using enum Placement;

constexpr std::array placements{replicated, sharded_width, sharded_sequence, sharded_flat, partial};

TEST(Layout, PartialSumsAreReduced) {
    EXPECT_EQ(conversion(partial, replicated), CollectiveKind::all_reduce);
    EXPECT_EQ(conversion(partial, sharded_sequence), CollectiveKind::reduce_scatter);
    EXPECT_EQ(conversion(partial, sharded_width), CollectiveKind::reduce_scatter);
    EXPECT_EQ(conversion(partial, sharded_flat), CollectiveKind::reduce_scatter);
}

TEST(Layout, PartsAreGatheredOrExchanged) {
    EXPECT_EQ(conversion(sharded_sequence, replicated), CollectiveKind::all_gather);
    EXPECT_EQ(conversion(sharded_width, replicated), CollectiveKind::all_gather);
    EXPECT_EQ(conversion(sharded_width, sharded_sequence), CollectiveKind::all_to_all);
    EXPECT_EQ(conversion(sharded_sequence, sharded_width), CollectiveKind::all_to_all);
}

TEST(Layout, WhatIsThereDoesNotMove) {
    for (const Placement placement : placements) EXPECT_EQ(conversion(placement, placement), std::nullopt);
    EXPECT_EQ(conversion(replicated, sharded_width), std::nullopt);
    EXPECT_EQ(conversion(replicated, sharded_sequence), std::nullopt);
}

TEST(Layout, NothingIsTurnedIntoAPartialSum) {
    EXPECT_THROW((void)conversion(sharded_width, partial), std::logic_error);
    EXPECT_THROW((void)conversion(sharded_sequence, partial), std::logic_error);
}

/// All-reduce is reduce-scatter then all-gather: the same bytes on the wire.
TEST(Layout, ADetourOverPartsCostsTheSame) {
    for (const std::uint32_t ranks : {2U, 3U, 8U, 64U})
        EXPECT_DOUBLE_EQ(kernels::bus_factor(*conversion(partial, replicated), ranks),
                         kernels::bus_factor(*conversion(partial, sharded_sequence), ranks) +
                             kernels::bus_factor(*conversion(sharded_sequence, replicated), ranks));
}

}  // namespace
}  // namespace orrery::strategies
