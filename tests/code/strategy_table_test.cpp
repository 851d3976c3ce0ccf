#include "tests/code/strategy_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery::code {
namespace {

constexpr const char* table_path = "strategies/STRATEGIES.md";

Findings rows_of(const std::string& text) {
    return strategy_rows({table_path, text}, {{"tests/a/b_test.cpp", "TEST(Suite, Name) {}\n"}});
}

TEST(StrategyTable, HoldsAgainstTheProject) {
    const std::vector<SourceFile> project = read_project(".");
    const auto table = std::ranges::find(project, table_path, &SourceFile::path);
    ASSERT_NE(table, project.end());
    for (const std::string& finding : strategy_rows(*table, project)) ADD_FAILURE() << finding;
    for (const std::string& finding : strategies_left_out(*table, project)) ADD_FAILURE() << finding;
}

TEST(StrategyTable, RowsHaveSixCellsAndATest) {
    const std::string head = "| strategy (key) | source | bytes | FLOPs | memory | test |\n| --- | --- |\n";
    EXPECT_EQ(rows_of(head + "| a | b | c | d | e | a/b_test.cpp:Suite.Name |\n"), Findings{});
    EXPECT_EQ(rows_of(head + "| a | b | c | d |  | a/b_test.cpp:Suite.Name |\n").size(), 1u);
    EXPECT_EQ(rows_of(head + "| a | b | c | d | a/b_test.cpp:Suite.Name |\n").size(), 1u);
    EXPECT_EQ(rows_of(head + "| a | b | c | d | e | a/b_test.cpp:Suite.Other |\n").size(), 1u);
    EXPECT_EQ(rows_of(head + "| a | b | c | d | e | a/b_test.cpp:Suite.Name, a/c_test.cpp:Suite.Name |\n").size(), 1u);
    EXPECT_EQ(rows_of("").size(), 1u);
}

TEST(StrategyTable, EveryKeyAndScheduleHasARow) {
    const std::vector<SourceFile> project{
        {"strategies/strategy_fields.cpp", "field<&Strategy::data>({.name = \"data\", .min = 1}),"},
        {"strategies/schedule/schedule.hpp", "Schedule{ScheduleKind::zb_v, \"zb-v\"}"}};
    EXPECT_EQ(strategies_left_out({table_path, "(`data`) (`schedule: zb-v`)"}, project), Findings{});
    EXPECT_EQ(strategies_left_out({table_path, "(`data`) (`schedule: zb-h1`)"}, project).size(), 1u);
    EXPECT_EQ(strategies_left_out({table_path, "data (`schedule: zb-v`)"}, project).size(), 1u);
}

}  // namespace
}  // namespace orrery::code
