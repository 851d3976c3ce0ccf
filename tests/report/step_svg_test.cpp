#include "report/step_svg.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/report/golden.hpp"
#include "tests/report/sample.hpp"

namespace orrery::report {
namespace {

std::size_t count(std::string_view text, std::string_view word) {
    std::size_t times = 0;
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++times;
    return times;
}

TEST(StepSvg, IsStable) { expect_golden("step.svg", step_svg(sample_scenario(), sample_prediction())); }

TEST(StepSvg, HasARowForEachStageAndNumbersMicroBatches) {
    const std::string text = step_svg(sample_scenario(4), sample_prediction(4));
    for (const char* row : {"stage 0: rank", "stage 1: rank", "stage 2: rank", "stage 3: rank"})
        EXPECT_EQ(count(text, row), 1U) << row;
    EXPECT_GE(count(text, ">1</text>"), 4U);
    EXPECT_GE(count(text, ">2</text>"), 4U);
}

TEST(StepSvg, EscapesWhatTheScenarioIsCalled) {
    scenarios::Scenario scenario = sample_scenario();
    scenario.name = "a < b & \"c\"\n>";
    const std::string text = step_svg(scenario, sample_prediction());
    EXPECT_EQ(count(text, ">a &lt; b &amp; &quot;c&quot; &gt;</text>"), 1U);
}

TEST(StepSvg, JoinsBarsThatAreTooNarrowToBeSeen) {
    sim::Prediction p = sample_prediction();
    const std::size_t bytes = step_svg(sample_scenario(), p).size();
    p.step_time_s *= 1e5;  // all that happens is within a pixel
    EXPECT_LT(step_svg(sample_scenario(), p).size(), bytes);
}

TEST(StepSvg, OfAStepThatTakesNoTimeIsADrawingWithoutBars) {
    sim::Prediction p = sample_prediction();
    p.step_time_s = 0;
    EXPECT_EQ(count(step_svg(sample_scenario(), p), "</svg>"), 1U);
}

}  // namespace
}  // namespace orrery::report
