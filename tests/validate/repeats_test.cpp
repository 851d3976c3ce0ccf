#include "validate/repeats.hpp"

#include <gtest/gtest.h>

#include "validate/output.hpp"

namespace orrery::validate {
namespace {

Result row(const char* source, std::size_t scenario, double measured, double prediction) {
    Result made;
    made.source = source;
    made.scenario = scenario;
    made.measured = measured;
    made.prediction = prediction;
    made.predicted = true;
    return made;
}

TEST(Repeats, AreRowsOfOneSourceWhoseScenariosAreEqual) {
    const Repeats found =
        repeats({row("a", 1, 90, 100), row("a", 1, 110, 100), row("a", 2, 50, 20), row("b", 1, 100, 100)});
    EXPECT_EQ(found.scenarios, 1U);
    EXPECT_EQ(found.rows, 2U);
    EXPECT_DOUBLE_EQ(*found.spread, 0.1);
    EXPECT_DOUBLE_EQ(*found.inside, 1);
}

TEST(Repeats, CountPredictionsBetweenLeastAndMost) {
    const Repeats found =
        repeats({row("a", 1, 90, 89), row("a", 1, 110, 89), row("a", 2, 10, 11), row("a", 2, 12, 11)});
    EXPECT_EQ(found.rows, 4U);
    EXPECT_DOUBLE_EQ(*found.inside, 0.5);
}

TEST(Repeats, WithoutAnyThereIsNothingToSay) {
    Result skipped = row("a", 0, 0, 0);
    skipped.predicted = false;
    const Repeats found = repeats({row("a", 1, 90, 89), skipped, skipped});
    EXPECT_EQ(found.rows, 0U);
    EXPECT_FALSE(found.spread);
    EXPECT_FALSE(found.inside);
}

TEST(Repeats, ArePrinted) {
    Report report;
    report.steps = score({row("a", 1, 90, 100), row("a", 1, 110, 100)});
    EXPECT_NE(to_text(report).find("measured more than once: 1 scenarios, 2 rows, 10.0% from their own median"),
              std::string::npos)
        << to_text(report);
}

}  // namespace
}  // namespace orrery::validate
