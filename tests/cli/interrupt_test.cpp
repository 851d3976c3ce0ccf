// Ctrl-C, kill, and readers that go away.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

/// Every one of 1,024 GPUs on the slow engine: minutes of work.
const std::vector<std::string> long_work{
    "simulate", "scenarios/gpt3-175b-superpod-a100.json", "--fold", "off", "--engine", "simgrid", "--no-color"};

/// Whether the process has a file open that stands in for this one, or writes beside it.
bool writes_below(pid_t process, const std::string& folder) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", ignored))
        if (std::filesystem::read_symlink(entry.path(), ignored).string().starts_with(folder)) return true;
    return false;
}

TEST(Interrupt, LeavesNothingAndSaysSo) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const Folder folder;
        const std::string json = folder.file("report.json", "the last report");
        std::vector<std::string> arguments = long_work;
        arguments.insert(arguments.end(), {"--json", json, "--trace", folder / "trace.json.gz"});
        Running simulation(arguments);
        ASSERT_TRUE(comes_true([&] { return writes_below(simulation.process(), folder / ""); }));
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        ASSERT_EQ(::kill(simulation.process(), signal), 0);
        const Result result = simulation.wait();
        EXPECT_EQ(result.exit, 130);
        EXPECT_EQ(result.err, "orrery: interrupted\n");
        EXPECT_EQ(result.out, "");
        EXPECT_EQ(folder.names(), std::vector<std::string>{"report.json"});
        EXPECT_EQ(content_of(json), "the last report");
    }
}

TEST(Interrupt, WhoWaitsAtATerminalSeesHowFarItIs) {
    for (const std::string fold : {"off", "verify"}) {
        const std::string label = fold == "off" ? "simulate [" : "verify [";
        SCOPED_TRACE(fold);
        Terminal terminal;
        std::vector<std::string> arguments = long_work;
        arguments[3] = fold;
        Running simulation(arguments, {}, &terminal);
        ASSERT_TRUE(comes_true([&] { return terminal.text().find(label) != std::string::npos; }));
        ASSERT_TRUE(comes_true([&] { return terminal.text().find(" left\033[K") != std::string::npos; }));
        ASSERT_EQ(::kill(simulation.process(), SIGINT), 0);
        EXPECT_EQ(simulation.wait().exit, 130);
        EXPECT_TRUE(terminal.text().ends_with("\r\033[Korrery: interrupted\r\n")) << terminal.text();
    }
}

TEST(Interrupt, AKillLeavesNoHalfFile) {
    const Folder folder;
    std::vector<std::string> arguments = long_work;
    arguments.insert(arguments.end(), {"--json", folder / "report.json"});
    Running simulation(arguments);
    ASSERT_TRUE(comes_true([&] { return writes_below(simulation.process(), folder / ""); }));
    ASSERT_EQ(::kill(simulation.process(), SIGKILL), 0);
    EXPECT_EQ(simulation.wait().exit, 128 + SIGKILL);
    EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

/// As nohup leaves it.
TEST(Interrupt, AnIgnoredSignalStaysIgnored) {
    const Folder folder;
    const std::string command = "trap '' HUP; " ORRERY_PROGRAM " simulate scenarios/gpt-tiny-cpu.json --json " +
                                (folder / "x.json") + " > /dev/null & kill -HUP $!; wait $!";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"x.json"});
}

TEST(Interrupt, AReaderThatGoesAwayIsAnErrorWithARemedy) {
    const Folder folder;
    const std::string command = "( " ORRERY_PROGRAM " explain scenarios/gpt3-175b-superpod-a100.json 2> " +
                                (folder / "err") + "; echo $? > " + (folder / "code") + " ) | head -n 1 > " +
                                (folder / "out");
    ASSERT_EQ(std::system(command.c_str()), 0);
    ASSERT_TRUE(comes_true([&] { return !content_of(folder / "code").empty(); }));
    EXPECT_EQ(content_of(folder / "code"), "3\n");
    const std::string said = content_of(folder / "err");
    EXPECT_NE(said.find("standard output could not be written"), std::string::npos) << said;
    EXPECT_NE(said.find("hint:"), std::string::npos) << said;
}

}  // namespace
}  // namespace orrery::cli
