#include "report/terminal.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/table.hpp"
#include "models/catalog.hpp"
#include "report/stage_table.hpp"
#include "tests/report/golden.hpp"
#include "tests/report/sample.hpp"

namespace orrery::report {
namespace {

TEST(Terminal, OfTwoStages) {
    expect_golden("terminal_two_stages.txt", terminal(sample_scenario(), sample_prediction(), {}));
}

TEST(Terminal, OfManyStagesShowsTheEnds) {
    expect_golden("terminal_sixteen_stages.txt", terminal(sample_scenario(16), sample_prediction(16), {}));
}

TEST(Terminal, InColour) {
    expect_golden("terminal_colour.txt", terminal(sample_scenario(1), sample_prediction(1), {.color = true}));
}

TEST(Terminal, OfAPerturbedStep) {
    scenarios::Scenario scenario = sample_scenario();
    scenario.perturbations.stragglers = {scenarios::parse_straggler("rank 3 x 1.5 from 100 ms to 2 s")};
    scenario.perturbations.links = {scenarios::parse_slow_link("node 1 nic 0 down to 1 s")};
    scenario.perturbations.jitter = 0.02;
    sim::Prediction p = sample_prediction();
    p.planned_step_time_s = 0.8;
    const std::string text = terminal(scenario, p, {});
    EXPECT_NE(text.find("\nPERTURBED +25.00% of 800 ms as planned: rank 3 x 1.5 from 0.1 s to 2 s, "
                        "node 1 nic 0 down to 1 s, jitter 0.02\n"),
              std::string::npos)
        << text;
    for (std::uint32_t rank = 0; rank < 9; ++rank) scenario.perturbations.stragglers.push_back({rank, rank, 2, {}});
    EXPECT_NE(terminal(scenario, p, {}).find("rank 2 x 2, and 8 more\n"), std::string::npos);
}

TEST(Terminal, OfAStepThatSharesItsCluster) {
    sim::Prediction p = sample_prediction();
    EXPECT_EQ(terminal(sample_scenario(), p, {}).find("shared"), std::string::npos);
    p.planned_step_time_s = 0.8;
    p.jobs = {{"own", 8, 0, 0.8, 1}, {"other", 16, 0.5, 2, 2}};
    p.shared_links = {{"leaf 0 to spine 1", 4, 25e9, 1 << 30, 2e9, 0.756}};
    const std::string text = terminal(sample_scenario(), p, {});
    for (const char* line : {"\nown       8          0      800 ms  1.00 s  25.00%\n",
                             "\nother    16     500 ms      2.00 s  2.00 s   0.00%\n",
                             "\nleaf 0 to spine 1      4  25 GB/s  1.00 GiB   1.86 GiB  75.6%\n"})
        EXPECT_NE(text.find(line), std::string::npos) << line << " is missing from\n" << text;
    EXPECT_EQ(text.find("PERTURBED"), std::string::npos) << "it goes to plan";
}

TEST(Terminal, PlainTextHasNoEscapes) {
    EXPECT_EQ(terminal(sample_scenario(), sample_prediction(), {}).find('\x1b'), std::string::npos);
}

TEST(Terminal, NamesTheLargestPartWhenItDoesNotFit) {
    sim::Prediction p = sample_prediction();
    p.memory_capacity = 40ULL << 30U;
    p.fits = false;
    const std::string text = terminal(sample_scenario(), p, {});
    const std::size_t verdict =
        text.find("\n\nDOES NOT FIT stage 0 needs 61.0 GiB of 40.0 GiB; largest: activations, 30.0 GiB\n");
    ASSERT_NE(verdict, std::string::npos) << text;
    EXPECT_LT(verdict, text.find("\nstep 1.00 s")) << "the verdict comes first";
}

/// What the framework keeps is a row of its own, and what is needed is held against the capacity.
TEST(Terminal, ShowsWhatTheFrameworkKeeps) {
    sim::Prediction p = sample_prediction();
    EXPECT_EQ(terminal(sample_scenario(), p, {}).find("framework"), std::string::npos) << "where there is none";
    constexpr std::uint64_t gib = 1ULL << 30U;
    p.framework.assign(p.memory.size(), {.workspaces = gib, .context = gib, .communicators = 2 * gib});
    const std::string text = terminal(sample_scenario(), p, {});
    const auto line = [&](const std::string& title) {
        const std::size_t at = text.find('\n' + title);
        return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    };
    EXPECT_NE(line("framework").find("4.0"), std::string::npos) << text;
    EXPECT_NE(line("needed, of 80.0").find("65.0"), std::string::npos) << text;
    EXPECT_NE(line("peak ").find("61.0"), std::string::npos) << text;
    p.memory_capacity = 62 * gib;
    p.fits = false;
    EXPECT_NE(terminal(sample_scenario(), p, {}).find("DOES NOT FIT stage 0 needs 65.0 GiB of 62.0 GiB"),
              std::string::npos);
}

TEST(Terminal, SaysWhatMfuCounts) {
    sim::Prediction p = sample_prediction();
    p.mfu_causal = 0.41;
    EXPECT_NE(terminal(sample_scenario(), p, {}).find("the full square (over its causal half: 41.0%)"),
              std::string::npos);
    scenarios::Scenario encoder = sample_scenario();
    encoder.plan.model.causal = false;
    EXPECT_EQ(terminal(encoder, p, {}).find("causal half"), std::string::npos);
}

TEST(Terminal, NamesWhatWasChangedInAShippedModel) {
    scenarios::Scenario scenario = sample_scenario();
    scenario.plan.model = models::find("gpt3-175b");
    EXPECT_NE(terminal(scenario, sample_prediction(), {}).find("\ngpt3-175b on "), std::string::npos);
    scenario.plan.model.layers = 48;
    scenario.plan.model.position = models::PositionKind::rope;
    const std::string text = terminal(scenario, sample_prediction(), {});
    EXPECT_NE(text.find("\ngpt3-175b with num_hidden_layers 48, position_embedding_type \"rope\" on "),
              std::string::npos)
        << text;
}

std::size_t widest_line(const std::string& text) {
    std::istringstream lines(text);
    std::size_t widest = 0;
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, display_width(line));
    return widest;
}

TEST(StageTables, StayWithinTheTerminal) {
    const sim::Prediction p = sample_prediction(8);
    const std::string wide = memory_table(p), narrow = memory_table(p, 60);
    EXPECT_GT(widest_line(wide), 60U);
    EXPECT_LE(widest_line(narrow), 60U) << narrow;
    for (int stage = 0; stage < 8; ++stage)
        EXPECT_NE(narrow.find(fmt::format("stage {}", stage)), std::string::npos) << narrow;
    EXPECT_EQ(memory_table(p, 500), wide);
    EXPECT_LE(widest_line(breakdown_table(p, {}, 60)), 60U);
    EXPECT_FALSE(breakdown_table(p, {}, 1).empty()) << "one stage a piece is the least";
}

TEST(StageTables, FoldStagesThatAreAlikeWhereTheyAreTooWide) {
    sim::Prediction p = sample_prediction(8);
    for (std::size_t stage = 2; stage < 7; ++stage) p.stages[stage] = p.stages[1];
    const std::string table = breakdown_table(p, {}, 60);
    for (const char* title : {"stage 0  stages 1-6  stage 7  mean share"})
        EXPECT_NE(table.find(title), std::string::npos) << table;
    EXPECT_EQ(breakdown_table(p, {}).find("stages"), std::string::npos) << "there is room";
}

TEST(Terminal, LeavesOutWhatWasNotAskedFor) {
    sim::Prediction p = sample_prediction();
    p.scale_base_gpus = 0;
    p.training_time_s = 0;
    p.advice.clear();
    p.warnings.clear();
    const std::string text = terminal(sample_scenario(), p, {});
    for (const char* word : {"scale factor", "tokens in", "ADVICE", "WARNING", "DOES NOT FIT"})
        EXPECT_EQ(text.find(word), std::string::npos) << word;
}

TEST(Terminal, SharesOfTheStepAddUp) {
    const std::string table = breakdown_table(sample_prediction(), {});
    double sum = 0;
    for (std::size_t at = table.find('%'); at != std::string::npos; at = table.find('%', at + 1))
        sum += std::stod(table.substr(table.rfind(' ', at) + 1));
    EXPECT_NEAR(sum, 100.0, 0.3) << table;
}

TEST(StageTables, SayWhoseCommunicationItIs) {
    const sim::Prediction p = sample_prediction();
    strategies::Strategy strategy;
    const auto says = [&](const char* title) { return breakdown_table(p, strategy).find(title) != std::string::npos; };
    strategy.tensor = 2;
    EXPECT_TRUE(says("\nTP comm "));
    strategy.context = 2;
    EXPECT_TRUE(says("\nTP, CP comm "));
    strategy.tensor = 1;
    EXPECT_TRUE(says("\nCP comm "));
}

TEST(ShownStages, AreAllOfAFew) {
    EXPECT_EQ(shown_stages(1, 0), (std::vector<std::size_t>{0}));
    EXPECT_EQ(shown_stages(8, 3), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(ShownStages, AreTheEndsAndTheNotableOneOfMany) {
    EXPECT_EQ(shown_stages(9, 4), (std::vector<std::size_t>{0, 1, 4, 7, 8}));
    EXPECT_EQ(shown_stages(64, 63), (std::vector<std::size_t>{0, 1, 62, 63}));
    EXPECT_EQ(shown_stages(64, 99), (std::vector<std::size_t>{0, 1, 62, 63}));
}

}  // namespace
}  // namespace orrery::report
