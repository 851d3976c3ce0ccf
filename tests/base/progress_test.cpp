#include "base/progress.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/table.hpp"
#include "base/terminal.hpp"

namespace orrery {
namespace {

TEST(ProgressLine, ShowsShareCountAndTimeLeft) {
    EXPECT_EQ(progress_line("rows", 0, 8, 0.0, 40, false), "rows [>                      ]   0%  0/8");
    // 2 of 8 took 1 s, so that 6 more take 3 s.
    EXPECT_EQ(progress_line("rows", 2, 8, 1.0, 44, false), "rows [===>          ]  25%  2/8  3.00 s left");
    EXPECT_EQ(progress_line("rows", 8, 8, 4.0, 28, false), "rows [===========] 100%  8/8");
}

TEST(ProgressLine, NeverClaimsMoreThanIsDone) {
    EXPECT_NE(progress_line("", 999, 1000, 1.0, 80, false).find(" 99%"), std::string::npos);
    EXPECT_NE(progress_line("", 12, 10, 1.0, 80, false).find("100%  10/10"), std::string::npos);
    EXPECT_NE(progress_line("", 0, 0, 0.0, 80, false).find("100%  0/0"), std::string::npos);
}

TEST(ProgressLine, FitsTheTerminal) {
    for (const int columns : {0, 1, 7, 20, 33, 80, 200}) {
        const std::string line = progress_line("calibrate", 17, 240, 12.0, columns, false);
        EXPECT_LE(display_width(line), static_cast<std::size_t>(columns)) << line;
    }
    EXPECT_EQ(progress_line("calibrate", 1, 2, 1.0, 12, false), " 50%  1/2  1");
}

TEST(ProgressLine, ColoursOnlyWhenAsked) {
    EXPECT_EQ(progress_line("x", 1, 2, 1.0, 80, false).find('\033'), std::string::npos);
    EXPECT_NE(progress_line("x", 1, 2, 1.0, 80, true).find("\033[32m"), std::string::npos);
}

TEST(Progress, IsSilentWhenQuiet) {
    testing::internal::CaptureStderr();
    {
        Progress progress("rows", 3, true);
        for (int i = 0; i < 3; ++i) progress.advance();
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Progress, IsSilentWhereStderrIsNoTerminal) {
    testing::internal::CaptureStderr();  // a file
    { Progress("rows", 1).advance(); }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Terminal, NoColorAndDumbTerminalsAreRespected) {
    setenv("NO_COLOR", "1", 1);
    EXPECT_FALSE(wants_color(Stream::err));
    unsetenv("NO_COLOR");
    testing::internal::CaptureStdout();
    EXPECT_FALSE(is_terminal(Stream::out));
    EXPECT_EQ(terminal_columns(Stream::out), 80);
    testing::internal::GetCapturedStdout();
}

}  // namespace
}  // namespace orrery
