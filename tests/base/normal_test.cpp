#include "base/normal.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Normal, QuantilesAreThoseOfTables) {
    EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
    EXPECT_NEAR(normal_quantile(0.9), 1.2815515655, 1e-9);
    EXPECT_NEAR(normal_quantile(0.1), -1.2815515655, 1e-9);
    EXPECT_NEAR(normal_quantile(0.999), 3.0902323062, 1e-9);
}

/// Exact means of the largest of 2, 8, 100 and 1,000 standard normal values (Harter 1961; Tippett 1925).
TEST(Normal, LargestOfMany) {
    EXPECT_EQ(expected_maximum(1), 0);
    EXPECT_NEAR(expected_maximum(2), 0.5642, 0.03);
    EXPECT_NEAR(expected_maximum(8), 1.4236, 0.012);
    EXPECT_NEAR(expected_maximum(100), 2.5076, 0.01);
    EXPECT_NEAR(expected_maximum(1000), 3.2414, 0.02);
}

}  // namespace
}  // namespace orrery
