#include "planning/crew.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace orrery::planning {
namespace {

TEST(Work, IsReadAsItWasWritten) {
    const Work point = work_from_line(to_line(Work{.point = 17, .plan = {}}));
    EXPECT_EQ(point.point, 17U);
    EXPECT_FALSE(point.plan.has_value());

    Work work{.point = 3, .plan = Work::Plan{.strategy = {}, .micro_batch = 4}};
    work.plan->strategy.tensor = 8;
    work.plan->strategy.data = 16;
    work.plan->strategy.sequence_parallel = true;
    const std::string line = to_line(work);
    const Work again = work_from_line(line);
    ASSERT_TRUE(again.plan.has_value());
    EXPECT_EQ(again.plan->strategy.tensor, 8U);
    EXPECT_EQ(again.plan->micro_batch, 4U);
    EXPECT_EQ(to_line(again), line);
}

TEST(Work, OfAnotherFormIsRefused) {
    for (const char* line : {"", "{", "7", "{}", R"({"point": -1})", R"({"point": 1, "plan": 2})",
                             R"({"point": 1, "strategy": {"tensor": 0}})"})
        EXPECT_THROW((void)work_from_line(line), Error) << line;
}

TEST(Crew, HasAsManyHandsAsThreads) {
    const Crew crew = crew_of(3);
    const auto hands = crew([](const Work& work) { return Answer{{}, std::to_string(work.point)}; });
    ASSERT_EQ(hands.size(), 3U);
    EXPECT_EQ(hands.back()({.point = 5, .plan = {}}).problem, "5");
}

}  // namespace
}  // namespace orrery::planning
