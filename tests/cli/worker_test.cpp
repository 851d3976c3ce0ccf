// orrery-worker: the ranks of an MPI job answer what one process answers, byte for byte, and lose nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Words = std::vector<std::string>;

const std::string scenario = "scenarios/gpt-1.7b-dgx-a100.json";
// Open MPI in containers: as root, on fewer cores than ranks, which then take turns.
const Words in_containers{"OMPI_ALLOW_RUN_AS_ROOT=1",
                          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                          "OMPI_MCA_rmaps_base_oversubscribe=1",
                          "OMPI_MCA_hwloc_base_binding_policy=none",
                          "OMPI_MCA_mpi_yield_when_idle=1",
                          "ASAN_OPTIONS=detect_leaks=0"};

Command job(int ranks, const Words& arguments) {
    Command command{{MPIEXEC_PROGRAM, "-n", std::to_string(ranks), ORRERY_WORKER_PROGRAM}};
    command.words.insert(command.words.end(), arguments.begin(), arguments.end());
    return command;
}

Result worker(int ranks, const Words& arguments) { return Running(job(ranks, arguments), in_containers).wait(); }

Words sweep(const Words& more) {
    Words words{"sweep", scenario, "--vary", "strategy.tensor=1,2,3,4,8", "--vary", "training.micro_batch_size=1..8x2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

/// Processes of this test's that have the folder in their command line.
std::vector<pid_t> ranks_with(const std::string& word) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream in(entry.path() / "cmdline");
        const std::string line{std::istreambuf_iterator<char>(in), {}};
        if (line.starts_with(ORRERY_WORKER_PROGRAM) && line.find(word) != std::string::npos)
            found.push_back(static_cast<pid_t>(std::stol(name)));
    }
    std::ranges::sort(found);
    return found;
}

TEST(Worker, SweepHasTheBytesOfOneProcess) {
    const Folder folder;
    ASSERT_EQ(orrery(sweep({"--csv", folder / "alone.csv", "--json", folder / "alone.json"})).exit, 0);
    for (const int ranks : {1, 2, 4}) {
        const Result result = worker(ranks, sweep({"--csv", folder / "shared.csv", "--json", folder / "shared.json"}));
        ASSERT_EQ(result.exit, 0) << result.err;
        EXPECT_EQ(content_of(folder / "shared.csv"), content_of(folder / "alone.csv")) << ranks << " ranks";
        EXPECT_EQ(content_of(folder / "shared.json"), content_of(folder / "alone.json")) << ranks << " ranks";
    }
    EXPECT_EQ(folder.names(), (Words{"alone.csv", "alone.json", "shared.csv", "shared.json"}));
}

TEST(Worker, SearchHasTheBytesOfOneProcess) {
    const Folder folder;
    const auto search = [&](const std::string& file) {
        return Words{"search", scenario, "--fix", "strategy.pipeline=2", "--json", folder / file};
    };
    ASSERT_EQ(orrery(search("alone.json")).exit, 0);
    const Result result = worker(3, search("shared.json"));
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(content_of(folder / "shared.json"), content_of(folder / "alone.json"));
}

TEST(Worker, BadInputIsSaidOnceAndEndsAllRanks) {
    const Result result = worker(3, {"sweep", scenario, "--vary", "strategy.tensr=1,2"});
    EXPECT_EQ(result.exit, 2) << result.err;
    const std::size_t at = result.err.find("error:");
    ASSERT_NE(at, std::string::npos) << result.err;
    EXPECT_EQ(result.err.find("error:", at + 1), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("strategy.tensor"), std::string::npos) << "the nearest key\n" << result.err;
}

/// As a host that dies takes its rank along: mpirun ends the others; what was finished stays.
TEST(Worker, ALostRankLosesNothingThatWasFinished) {
    const Folder folder;
    const Words whole{
        "sweep", scenario, "--vary", "training.global_batch_size=64..1600+64", "--vary", "strategy.tensor=1,2,4,8"};
    Words words = whole, again = whole;
    words.insert(words.end(), {"--csv", folder / "shared.csv"});
    again.insert(again.end(), {"--csv", folder / "alone.csv"});
    ASSERT_EQ(orrery(again).exit, 0);
    std::size_t kept = 0;
    {
        Running running(job(3, words), in_containers);
        const std::string log = folder / "shared.csv.log";
        ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(log) && lines(content_of(log)) > 3; }));
        const std::vector<pid_t> ranks = ranks_with(folder / "shared.csv");
        ASSERT_GE(ranks.size(), 3U);
        ::kill(ranks.back(), SIGKILL);
        EXPECT_NE(running.wait().exit, 0);
        EXPECT_TRUE(comes_true([&] { return ranks_with(folder / "shared.csv").empty(); })) << "ranks live on";
        EXPECT_FALSE(std::filesystem::exists(folder / "shared.csv"));
        kept = lines(content_of(log));
        EXPECT_GT(kept, 3U);
    }
    const Result result = worker(2, words);
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_EQ(content_of(folder / "shared.csv"), content_of(folder / "alone.csv"));
}

}  // namespace
}  // namespace orrery::cli
