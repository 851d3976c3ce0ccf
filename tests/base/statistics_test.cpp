#include "base/statistics.hpp"

#include <gtest/gtest.h>

using namespace orrery;

TEST(Statistics, MedianIsTheMiddleOrTheMeanOfTheTwoMiddleOnes) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({3}), 3);
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

TEST(Statistics, QuantilesLieBetweenNeighboursInProportion) {
    EXPECT_EQ(quantile({10, 20, 30, 40, 50}, 0), 10);
    EXPECT_EQ(quantile({10, 20, 30, 40, 50}, 1), 50);
    EXPECT_DOUBLE_EQ(quantile({10, 20, 30, 40, 50}, 0.1), 14);
    EXPECT_EQ(half_quartile_range({5, 3, 1, 2, 4}), 1);
    EXPECT_EQ(half_quartile_range({7}), 0);
}
