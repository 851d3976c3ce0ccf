// What orrery run leaves of folders and files, whether it ends well, fails or is killed; and of processes.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>

#include "run/progress.hpp"
#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

constexpr const char* tiny = "scenarios/gpt-tiny-cpu.json";
constexpr const char* two_ranks = "strategy.data=2";

/// Numbers of the processes of all ranks once each has begun a step.
std::vector<std::int64_t> processes_of(const fs::path& records, std::uint32_t ranks) {
    std::vector<std::int64_t> found;
    const auto all_run = [&] {
        found.clear();
        for (std::uint32_t rank = 0; rank < ranks; ++rank)
            if (const auto trace = run::read_progress(run::progress_file(records, rank));
                trace && trace->state == run::RankState::running && trace->step > 1)
                found.push_back(trace->pid);
        return found.size() == ranks;
    };
    return comes_true(all_run) ? found : std::vector<std::int64_t>{};
}

/// The one folder of a run below a folder for temporary files.
fs::path run_folder_in(const Folder& temporary) {
    for (const std::string& name : temporary.names())
        if (name.starts_with("orrery-run-")) return temporary / name;
    return {};
}

TEST(RunFolderTest, AFolderThatExistedStaysWithWhatWasInIt) {
    const Folder folder;
    (void)folder.file("thesis.tex", "three years");
    fs::create_directory(folder / "ranks-of-mine");
    const Result result = orrery({"run", tiny, "--steps", "3", "--folder", folder / ""});
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(folder.names(), (Names{"ranks-of-mine", "thesis.tex"}));
    EXPECT_EQ(content_of(folder / "thesis.tex"), "three years");
}

TEST(RunFolderTest, AFolderThatTheRunMadeGoes) {
    const Folder folder;
    const Result result = orrery({"run", tiny, "--steps", "3", "--folder", folder / "new/inner"});
    EXPECT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(folder.names(), Names{});
}

TEST(RunFolderTest, FilesInTheWayAreNotOverwritten) {
    for (const char* name : {"plan.json", "measured.json", "measured.json.steps", "ranks/rank-0"}) {
        const Folder folder;
        fs::create_directory(folder / "ranks");
        (void)folder.file(name, "mine");
        const Names before = folder.names();
        const Result result = orrery({"run", tiny, "--steps", "3", "--folder", folder / ""});
        EXPECT_EQ(result.exit, 2) << name;
        EXPECT_NE(result.err.find(folder / name), std::string::npos) << result.err;
        EXPECT_NE(result.err.find("hint:"), std::string::npos) << result.err;
        EXPECT_EQ(folder.names(), before);
        EXPECT_EQ(content_of(folder / name), "mine");
    }
}

TEST(RunFolderTest, AFailedRunsFilesStay) {
    const Folder folder, temporary;
    const std::vector<std::string> failing{"run", tiny, "--learning-rate", "1e30"};
    const Result own = orrery(failing, {"TMPDIR=" + temporary / ""});
    EXPECT_EQ(own.exit, 3);
    const fs::path kept = run_folder_in(temporary);
    EXPECT_TRUE(fs::exists(kept / "plan.json"));
    EXPECT_EQ(orrery({"run", tiny, "--steps", "3"}, {"TMPDIR=" + temporary / ""}).exit, 0);
    EXPECT_TRUE(fs::exists(kept / "plan.json")) << "another run removed it";
}

TEST(RunFolderTest, NobodyElseEntersATemporaryFolderAndNoneIsAdopted) {
    const Folder temporary, elsewhere;
    Running run({"run", tiny, "--steps", "1000000"}, {"TMPDIR=" + temporary / ""});
    ASSERT_TRUE(comes_true([&] { return !run_folder_in(temporary).empty(); }));
    const fs::path folder = run_folder_in(temporary);
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all);
    EXPECT_EQ(folder.filename().string().find(std::to_string(run.process())), std::string::npos)
        << "a name that others can foresee";
}

/// Ranks, their launcher and the folder of a run that was killed: with one rank there is no launcher.
class KilledRun : public testing::TestWithParam<std::uint32_t> {};

TEST_P(KilledRun, TakesItsRanksWithItAndTheNextRunRemovesItsFolder) {
    const std::uint32_t ranks = GetParam();
    const Folder temporary;
    const std::vector<std::string> environment{"TMPDIR=" + temporary / ""};
    const std::string change = "strategy.data=" + std::to_string(ranks);
    Running run({"run", tiny, "--set", change, "--steps", "1000000"}, environment);
    ASSERT_TRUE(comes_true([&] { return !run_folder_in(temporary).empty(); }));
    const fs::path folder = run_folder_in(temporary);
    const auto processes = processes_of(folder / "ranks", ranks);
    ASSERT_EQ(processes.size(), ranks);
    ASSERT_EQ(::kill(run.process(), SIGKILL), 0);
    (void)run.wait();
    for (const std::int64_t process : processes) EXPECT_TRUE(comes_true([&] { return !lives(process); })) << process;
    EXPECT_TRUE(fs::exists(folder));
    EXPECT_EQ(orrery({"run", tiny, "--steps", "3"}, environment).exit, 0);
    EXPECT_FALSE(fs::exists(folder));
    EXPECT_EQ(run_folder_in(temporary), fs::path());
}

INSTANTIATE_TEST_SUITE_P(Ranks, KilledRun, testing::Values(1U, 2U));

TEST(RunFolderTest, RanksEndWithTheirLauncher) {
    const Folder folder;
    Running run(
        {"run", tiny, "--set", two_ranks, "--steps", "1000000", "--communication", "tcp", "--folder", folder / "left"});
    const auto processes = processes_of(folder / "left/ranks", 2);
    ASSERT_EQ(processes.size(), 2U);
    std::ifstream stat("/proc/" + std::to_string(processes[0]) + "/stat");
    std::int64_t number = 0, launcher = 0;
    std::string name, state;
    stat >> number >> name >> state >> launcher;
    ASSERT_GT(launcher, 1);
    ASSERT_NE(launcher, run.process());
    ASSERT_EQ(::kill(static_cast<pid_t>(launcher), SIGKILL), 0);
    for (const std::int64_t process : processes) EXPECT_TRUE(comes_true([&] { return !lives(process); })) << process;
    EXPECT_EQ(run.wait().exit, 3);
}

/// As mpirun, timeout and job schedulers do it.
TEST(RunFolderTest, AnInterruptedRunLeavesNothing) {
    for (const int signal : {SIGINT, SIGTERM}) {
        const Folder temporary;
        Running run({"run", tiny, "--set", two_ranks, "--steps", "1000000"}, {"TMPDIR=" + temporary / ""});
        ASSERT_TRUE(comes_true([&] { return !run_folder_in(temporary).empty(); }));
        const auto processes = processes_of(run_folder_in(temporary) / "ranks", 2);
        ASSERT_EQ(processes.size(), 2U);
        ASSERT_EQ(::kill(run.process(), signal), 0);
        const Result result = run.wait();
        EXPECT_EQ(result.exit, 130) << result.err;
        EXPECT_NE(result.err.find("orrery: interrupted\n"), std::string::npos) << result.err;
        for (const std::int64_t process : processes)
            EXPECT_TRUE(comes_true([&] { return !lives(process); })) << process;
        EXPECT_EQ(run_folder_in(temporary), fs::path());
    }
}

}  // namespace
}  // namespace orrery::cli
