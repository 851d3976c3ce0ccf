#include "base/table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace orrery {
namespace {

using enum Table::Align;

TEST(DisplayWidth, CountsCharactersNotBytes) {
    EXPECT_EQ(display_width(""), 0u);
    EXPECT_EQ(display_width("GiB"), 3u);
    EXPECT_EQ(display_width("µs"), 2u);
    EXPECT_EQ(display_width("±3 → 5"), 6u);
    EXPECT_EQ(display_width("e\u0301"), 1u);  // e and a combining accent
    EXPECT_EQ(display_width("模型"), 4u);
}

TEST(DisplayWidth, CountsBytesThatAreNoUtf8AsOne) {
    EXPECT_EQ(display_width("\xff\xfe"), 2u);
    EXPECT_EQ(display_width("\xe6\xa8"), 2u);  // a character cut short
    EXPECT_EQ(display_width("\xc3 a"), 3u);
}

TEST(Table, AlignsColumnsUnderTheirTitles) {
    Table table({{"stage", left}, {"GEMM", right}, {"note", left}});
    table.row({"0", "980 ms", "±9%"}).row({"1", "1.04 s", ""}).rule().row({"all", "2.02 s"});
    EXPECT_EQ(table.to_text(),
              "stage    GEMM  note\n"
              "-----  ------  ----\n"
              "0      980 ms  ±9%\n"
              "1      1.04 s\n"
              "-----  ------  ----\n"
              "all    2.02 s\n");
    EXPECT_EQ(table.rows(), 3u);
}

TEST(Table, MeasuresWidthInCharacters) {
    Table table({{"t", right}, {"x", left}});
    table.row({"1 µs", "a"}).row({"12 ms", "b"});
    EXPECT_EQ(table.to_text({.header = false}), " 1 µs  a\n12 ms  b\n");
}

TEST(Table, TitlesDoNotWidenATableWithoutHeader) {
    Table table({{"a long title", left}, {"another", right}});
    table.row({"x", "1"});
    EXPECT_EQ(table.to_text({.header = false, .indent = "  ", .gap = " | "}), "  x | 1\n");
    EXPECT_EQ(table.to_text({.header_rule = false}), "a long title  another\nx                   1\n");
}

TEST(Table, FoldsTheWidestTextsToFit) {
    Table table({{"key", Table::Align::left}, {"what it is", Table::Align::left}, {"n"}});
    table.row({"tensor", "ranks that split every layer among themselves", "8"}).rule().row({"data", "replicas", "16"});
    EXPECT_EQ(table.to_text({.columns = 32}),
              "key     what it is             n\n"
              "------  --------------------  --\n"
              "tensor  ranks that split       8\n"
              "        every layer among\n"
              "        themselves\n"
              "------  --------------------  --\n"
              "data    replicas              16\n");
    EXPECT_EQ(table.to_text({.columns = 100}), table.to_text());
    const std::string narrow = table.to_text({.columns = 5});
    EXPECT_NE(narrow.find("themselves"), std::string::npos) << "nothing is lost where nothing fits:\n" << narrow;
}

TEST(Table, RefusesMoreCellsThanColumns) {
    Table table({{"only"}});
    EXPECT_THROW(table.row({"1", "2"}), std::invalid_argument);
    EXPECT_EQ(table.rows(), 0u);
}

}  // namespace
}  // namespace orrery
