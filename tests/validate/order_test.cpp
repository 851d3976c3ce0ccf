// Ranks by hand, and which plans count as different.
#include "validate/order.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "validate/score.hpp"

namespace orrery::validate {
namespace {

Result ranked(double measured, double prediction, const std::string& group, std::size_t scenario = 0) {
    Result row;
    row.predicted = true;
    row.group = group;
    row.scenario = scenario;
    row.rank_measured = measured;
    row.rank_prediction = prediction;
    return row;
}

Order order_among(const std::vector<Result>& rows) {
    std::vector<const Result*> pointers;
    for (const Result& row : rows) pointers.push_back(&row);
    return order_of(pointers);
}

TEST(Order, RanksShareTies) {
    const std::vector<double> values = {10, 30, 20, 20, 5};
    EXPECT_EQ(ranks(values), (std::vector<double>{2, 5, 3.5, 3.5, 1}));
}

TEST(Order, SpearmanByHand) {
    const std::vector<double> up = {1, 2, 3, 4}, down = {9, 7, 5, 3};
    EXPECT_DOUBLE_EQ(*spearman(up, up), 1);
    EXPECT_DOUBLE_EQ(*spearman(up, down), -1);
    // d = (0, 1, 1, 0): 1 - 6 x 2 / (4 x 15) = 0.8
    EXPECT_DOUBLE_EQ(*spearman(up, std::vector<double>{1, 3, 2, 4}), 0.8);
    // Ties: ranks (1, 2.5, 2.5, 4) against (1, 2, 3, 4): covariance 4.5, variances 4.5 and 5.
    EXPECT_NEAR(*spearman(std::vector<double>{1, 5, 5, 9}, up), 4.5 / std::sqrt(4.5 * 5), 1e-15);
    EXPECT_FALSE(spearman(std::vector<double>{2, 2, 2}, std::vector<double>{1, 2, 3}));
    EXPECT_FALSE(spearman(std::vector<double>{1}, std::vector<double>{1}));
    EXPECT_FALSE(spearman(up, std::vector<double>{1, 2}));
}

TEST(Order, IsAveragedOverGroupsOfFour) {
    std::vector<Result> rows;
    for (const double x : {1.0, 2.0, 3.0, 4.0}) rows.push_back(ranked(x, x * 2, "same order"));
    for (const double x : {1.0, 2.0, 3.0, 4.0}) rows.push_back(ranked(x, 5 - x, "reversed"));
    for (const double x : {1.0, 2.0, 3.0}) rows.push_back(ranked(x, x, "too few"));
    for (const double x : {1.0, 2.0, 3.0, 4.0}) rows.push_back(ranked(x, 1, "constant: no order"));
    for (const double x : {1.0, 1.01, 1.02, 1.03}) rows.push_back(ranked(x, 5 - x, "alike within 5%"));
    for (const double x : {1.0, 2.0, 3.0, 4.0}) rows.push_back(ranked(x, 5 - x, ""));
    const Order order = order_among(rows);
    EXPECT_EQ(order.groups, 2U);
    EXPECT_DOUBLE_EQ(*order.spearman, 0);
    EXPECT_EQ(order.pairs, 6U + 6 + 3 + 6);
    EXPECT_EQ(order.ordered, 6U + 3);
}

/// The same plan measured thrice, at 2, 4 and 100 s, took 4: behind the one of 3 s, as predicted, and before that of 5.
TEST(Order, RepeatedRunsAreOnePlanAtTheirMedian) {
    std::vector<Result> rows{ranked(1, 1, "g", 1), ranked(3, 3, "g", 2), ranked(5, 5, "g", 3)};
    for (const double measured : {100.0, 2.0, 4.0}) rows.push_back(ranked(measured, 4, "g", 4));
    const Order order = order_among(rows);
    EXPECT_DOUBLE_EQ(order.spearman.value(), 1);
    EXPECT_EQ(order.pairs, 6U);
    EXPECT_EQ(order.ordered, 6U);
    for (Result& row : rows) row.scenario = 0;  // now as six plans
    EXPECT_EQ(order_among(rows).pairs, 15U);
    EXPECT_LT(order_among(rows).spearman.value(), 1);
}

/// 1 and 1.04 are not told apart, however they are predicted; 1.08 differs from the quickest of them.
TEST(Order, PlansWithinFivePercentAreOne) {
    const std::vector<Result> rows{ranked(1, 1.2, "g"), ranked(1.04, 1.0, "g"), ranked(1.08, 2, "g"),
                                   ranked(2, 3, "g")};
    const Order order = order_among(rows);
    EXPECT_DOUBLE_EQ(order.spearman.value(), 1);
    EXPECT_EQ(order.pairs, 1U + 3);  // 1.04 and 1.08 lie within 5%
    EXPECT_EQ(order.ordered, order.pairs);
}

/// A summary takes sources with enough pairs, each as one.
TEST(Order, SourcesCountAlike) {
    std::vector<Result> rows;
    for (const double x : {1.0, 2.0, 3.0, 4.0, 5.0}) rows.push_back(ranked(x, x, "g"));
    for (Result& row : rows) row.source = "right";
    for (const double x : {1.0, 2.0, 3.0, 4.0, 5.0}) {
        rows.push_back(ranked(x, 6 - x, "g"));
        rows.back().source = "wrong";
    }
    rows.push_back(ranked(1, 1, "g"));
    rows.back().source = "too few";
    const Table table = score(rows);
    EXPECT_EQ(table.all.ordering, 2U);
    EXPECT_DOUBLE_EQ(table.all.ordered.value(), 0.5);
    EXPECT_DOUBLE_EQ(table.all.spearman.value(), 0);
}

}  // namespace
}  // namespace orrery::validate
