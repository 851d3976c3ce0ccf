#include "validate/score.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace orrery::validate {

namespace {

Result predicted(const std::string& id, double error, const std::string& source = "a") {
    Result row;
    row.id = id;
    row.source = source;
    row.predicted = true;
    row.measured = 1;
    row.prediction = 1 + error;
    row.error = row.signed_error = error;
    return row;
}

Result skipped(const std::string& reason, const std::string& source = "a") {
    Result row;
    row.source = source;
    row.reason = reason;
    return row;
}

}  // namespace

TEST(Score, OneSource) {
    const Table table = score({predicted("x", -0.1), skipped("no gpu"), predicted("y", 0.3), skipped("no gpu"),
                               predicted("z", 0.2), skipped("no model")});
    ASSERT_EQ(table.sources.size(), 1U);
    const SourceScore& source = table.sources[0];
    EXPECT_EQ(source.rows, 6U);
    EXPECT_EQ(source.predicted, 3U);
    EXPECT_EQ(source.skipped, 3U);
    EXPECT_EQ(source.reasons.at("no gpu"), 2U);
    EXPECT_EQ(source.reasons.at("no model"), 1U);
    EXPECT_DOUBLE_EQ(*source.median, 0.2);
    EXPECT_DOUBLE_EQ(*source.mean, 0.2);
    EXPECT_NEAR(*source.bias, 0.4 / 3, 1e-15);
    EXPECT_FALSE(source.order.spearman);
    ASSERT_EQ(source.worst.size(), 3U);
    EXPECT_EQ(source.worst[0].id, "y");
    EXPECT_EQ(source.worst[2].id, "x");
    EXPECT_DOUBLE_EQ(source.worst[2].error, -0.1);
}

TEST(Score, MeanOfMediansWeighsSourcesAlike) {
    std::vector<Result> rows = {predicted("b1", 0.9, "b"), skipped("why", "c")};
    for (int i = 0; i < 20; ++i) rows.push_back(predicted("a", 0.1, "a"));
    for (std::size_t i = 0; i < least_rows; ++i) rows.push_back(predicted("d", 0.5, "d"));
    const Table table = score(rows);
    ASSERT_EQ(table.sources.size(), 4U);
    EXPECT_EQ(table.sources[0].source, "b") << "order of appearance";
    EXPECT_FALSE(table.sources[1].median);
    EXPECT_EQ(table.sources[2].worst.size(), most_worst);
    EXPECT_DOUBLE_EQ(*table.all.mean_of_medians, 0.3) << "a source of one row does not count";
    EXPECT_EQ(table.all.sources, 2U);
    EXPECT_DOUBLE_EQ(*score({predicted("b1", 0.9, "b")}).all.mean_of_medians, 0.9) << "unless all are small";
    EXPECT_FALSE(score({skipped("why")}).all.mean_of_medians);
    EXPECT_TRUE(score({}).sources.empty());
}

TEST(Score, SourcesThatWereLookedAtAreLeftOutBeside) {
    std::vector<Result> rows;
    for (std::size_t i = 0; i < least_rows; ++i) {
        rows.push_back(predicted("v", 0.4, "vtrain_single"));
        rows.push_back(predicted("d", -0.08, "d"));
    }
    const Table table = score(rows);
    EXPECT_DOUBLE_EQ(*table.all.mean_of_medians, 0.24);
    EXPECT_DOUBLE_EQ(*table.all.within_tenth, 0.5);
    EXPECT_DOUBLE_EQ(*table.independent.mean_of_medians, 0.08);
    EXPECT_DOUBLE_EQ(*table.independent.within_tenth, 1);
    EXPECT_EQ(table.independent.rows, least_rows);
}

TEST(Score, CountsMeasuredStepsInsideTheirInterval) {
    const auto between = [](double measured, double low, double high) {
        Result row = predicted("x", 0.1);
        row.measured = measured;
        row.low = low;
        row.high = high;
        return row;
    };
    const Table table =
        score({between(1, 0.9, 1.2), between(1, 0.5, 0.9), between(2, 1, 3), between(1, 1, 2), predicted("y", 0.1)});
    EXPECT_DOUBLE_EQ(*table.all.inside, 0.75);
    EXPECT_FALSE(score({predicted("y", 0.1)}).all.inside);
}

}  // namespace orrery::validate
