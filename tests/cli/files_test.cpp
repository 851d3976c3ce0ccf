// Files that programs share: many writers of one, disks that are full, folders that are missing, inputs without an end.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using Names = std::vector<std::string>;

constexpr const char* tiny = "scenarios/gpt-tiny-cpu.json";

/// What all_reduce_perf prints among so many ranks of one node.
std::string nccl_tests(int ranks) {
    std::string text;
    for (int rank = 0; rank < ranks; ++rank)
        text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid 1 on n1 device  0 [0x00] NVIDIA H100 80GB HBM3\n";
    return text + "# all_reduce_perf\n 1024 256 float sum -1 12.00 0.09 0.09 0 12.00 0.09 0.09 0\n";
}

TEST(Files, WritersOfOneProfileLoseNothingOfEachOther) {
    constexpr int writers = 12;
    const Folder folder;
    const std::string profile = folder / "node.json";
    ASSERT_EQ(orrery({"calibrate", "import", "nccl-tests", folder.file("2.txt", nccl_tests(2)), "--out", profile}).exit,
              0);
    ASSERT_EQ(::chmod(profile.c_str(), 0640), 0);
    std::vector<std::unique_ptr<Running>> running;
    for (int ranks = 3; ranks < 3 + writers; ++ranks)
        running.push_back(std::make_unique<Running>(std::vector<std::string>{
            "calibrate", "import", "nccl-tests", folder.file(std::to_string(ranks) + ".txt", nccl_tests(ranks)),
            "--into", profile}));
    for (const auto& one : running) {
        const Result result = one->wait();
        EXPECT_EQ(result.exit, 0) << result.err;
    }
    const Json all = Json::parse(content_of(profile));
    EXPECT_EQ(all.at("collectives").size(), 1U + writers);
    EXPECT_EQ(folder.names().size(), 2U + writers) << "a temporary file is left";
    struct stat facts {};
    ASSERT_EQ(::stat(profile.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0640U);
}

TEST(Files, TwoCalibrationsDoNotWriteOneLog) {
    const Folder folder;
    const std::string out = folder / "cpu.json";
    Running first({"calibrate", "--suite", "gemm", "--budget", "10min", "--out", out, "-q"});
    ASSERT_TRUE(comes_true([&] { return content_of(out + ".log").find('\n') != std::string::npos; }));
    const Result second = orrery({"calibrate", "--suite", "gemm", "--budget", "1s", "--out", out, "--fresh"});
    EXPECT_EQ(second.exit, 2);
    for (const char* word : {"cpu.json.log", "another calibration", "hint:"})
        EXPECT_NE(second.err.find(word), std::string::npos) << second.err;
    ASSERT_EQ(::kill(first.process(), SIGINT), 0);
    const Result result = first.wait();
    EXPECT_EQ(result.exit, 130) << result.err;
    EXPECT_NE(result.err.find("the same command goes on from there"), std::string::npos) << result.err;
}

/// 256 MiB are read of it at most, and less where less is plausible.
TEST(Files, AnInputWithoutAnEndIsRefused) {
    const Folder folder;
    const std::string endless = "/dev/zero", out = folder / "out";
    const std::vector<std::vector<std::string>> commands{
        {"simulate", endless},
        {"explain", endless},
        {"topology", endless},
        {"simulate", tiny, "--set", "model.hugging_face=" + endless},
        {"topology", tiny, "--set", "cluster.node_file=" + endless},
        {"topology", tiny, "--set", "cluster.fabric_file=" + endless},
        {"compare", endless, endless},
        {"validate", endless},
        {"profile", "show", endless},
        {"calibrate", "show", endless},
        {"calibrate", "import", "nccl-tests", endless, "--out", out},
        {"calibrate", "--points", endless, "--out", out},
        {"calibrate", "--ranks", "2", "--hosts", endless, "--out", out},
        {"run", tiny, "--hosts", endless},
        {"run", tiny, "--data", endless},
    };
    for (const auto& command : commands) {
        const Result result = orrery(command);
        EXPECT_EQ(result.exit, 2) << command[0] << ' ' << command[1] << '\n' << result.err;
        EXPECT_NE(result.err.find("hint:"), std::string::npos) << command[0] << ' ' << command[1] << '\n' << result.err;
    }
    EXPECT_EQ(folder.names(), Names{});
}

TEST(Files, AFullDiskIsAnErrorWithARemedy) {
    for (const char* option : {"--json", "--trace"}) {
        const Result result = orrery({"simulate", tiny, option, "/dev/full"});
        EXPECT_EQ(result.exit, 2);
        EXPECT_NE(result.err.find("No space left"), std::string::npos) << result.err;
        EXPECT_NE(result.err.find("make room"), std::string::npos) << result.err;
    }
}

/// A picture that is small enough to wait in memory until the end.
TEST(Files, WhereOneHasNoRoomNoneAppears) {
    const Folder folder;
    const Result result = orrery({"simulate", tiny, "--json", folder / "report.json", "--svg", "/dev/full"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("No space left"), std::string::npos) << result.err;
    EXPECT_EQ(folder.names(), Names{});
}

TEST(Files, MissingFoldersAreErrorsWithARemedy) {
    const Folder empty;
    const Result temporary = orrery({"run", tiny}, {"TMPDIR=/no/such/folder"});
    EXPECT_EQ(temporary.exit, 2);
    for (const char* word : {"$TMPDIR", "/no/such/folder", "unset"})
        EXPECT_NE(temporary.err.find(word), std::string::npos) << temporary.err;
    for (const std::vector<std::string>& command : {Names{"list", "profiles"},
                                                    {"list", "models"},
                                                    {"simulate", tiny},
                                                    {"validate"},
                                                    {"calibrate", "show", "h100"}}) {
        const Result result = orrery(command, {"ORRERY_DATA=" + empty / ""});
        if (command[0] == "list" && command[1] == "models") continue;  // models are in the program
        EXPECT_EQ(result.exit, 2) << command[0] << '\n' << result.err;
        EXPECT_NE(result.err.find("ORRERY_DATA"), std::string::npos) << command[0] << '\n' << result.err;
    }
}

/// orrery-device beside orrery: what it measures goes where it was told, and to a file of its own beside that.
TEST(Files, ARankOverwritesNothingThatItWasNotTold) {
    const Folder folder;
    const std::string plan = folder / "plan.json", out = folder / "out.json", device = ORRERY_DEVICE_PROGRAM;
    ASSERT_EQ(orrery({"run", tiny, "--steps", "4", "--plan", plan}).exit, 0);
    const auto run = [&] {
        return std::system((device + " run " + plan + " --out " + out + " 2>" + out + ".err").c_str());
    };
    (void)folder.file("out.json.steps", "mine");
    EXPECT_EQ(WEXITSTATUS(run()), 2);
    EXPECT_NE(content_of(out + ".err").find("is there already"), std::string::npos) << content_of(out + ".err");
    EXPECT_EQ(content_of(out + ".steps"), "mine");
    std::filesystem::remove(out + ".steps");
    EXPECT_EQ(WEXITSTATUS(run()), 0) << content_of(out + ".err");
    EXPECT_EQ(folder.names(), (Names{"out.json", "out.json.err", "plan.json"}));
}

}  // namespace
}  // namespace orrery::cli
