// orrery calibrate, with the real orrery-device beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* points = R"({"points": [
    {"gemm": {"dtype": "fp32", "pass": "forward", "batch": 1, "m": 64, "n": 48, "k": 32}},
    {"pointwise": {"kind": "add", "dtype": "fp32", "rows": 8, "cols": 256}},
    {"copy": {"kind": "device_to_device", "bytes": 65536}}]})";

TEST(Calibrate, MeasuresListedPointsAndResumes) {
    const Folder folder;
    const std::string out = folder / "cpu.json", list = folder.file("points.json", points);
    const Result first = orrery({"calibrate", "--device", "cpu", "--points", list, "--out", out});
    ASSERT_EQ(first.exit, 0) << first.err;
    EXPECT_NE(first.out.find("3 points measured"), std::string::npos) << first.out;
    const Json profile = Json::parse(content_of(out));
    EXPECT_EQ(profile["gemm"][0]["rows"]["m"][0], 64);
    EXPECT_GT(profile["gemm"][0]["rows"]["us"][0], 0);
    EXPECT_GT(profile["gemm"][0]["rows"]["half_width"][0], 0);
    EXPECT_EQ(profile["constants"]["launch_seconds"]["value"], 0);
    const Result second = orrery({"calibrate", "--device", "cpu", "--points", list, "--out", out});
    EXPECT_EQ(second.exit, 0) << second.err;
    EXPECT_NE(second.out.find("0 points measured, 3 from an earlier run"), std::string::npos) << second.out;
    EXPECT_EQ(orrery({"calibrate", "show", out}).exit, 0);
}

/// For a machine that has orrery-device alone: the kernels of two scenarios as one list, and logs as one profile.
TEST(Calibrate, ListsPointsAndPutsLogsTogether) {
    const Folder folder;
    const std::string all = folder / "all.json", one = folder / "one.json", out = folder / "cpu.json";
    const std::vector<std::string> one_scenario{"calibrate", "--for", "scenarios/gpt-tiny-cpu.json", "--list", one};
    ASSERT_EQ(orrery(one_scenario).exit, 0);
    const Result listed = orrery({"calibrate", "--for", "scenarios/gpt-tiny-cpu.json", "--for",
                                  "scenarios/mixtral-tiny-cpu.json", "--list", all});
    ASSERT_EQ(listed.exit, 0) << listed.err;
    const Json first = Json::parse(content_of(one))["points"], both = Json::parse(content_of(all))["points"];
    ASSERT_GT(both.size(), first.size());
    EXPECT_TRUE(std::equal(first.begin(), first.end(), both.begin()));
    ASSERT_EQ(
        orrery({"calibrate", "--device", "cpu", "--points", folder.file("points.json", points), "--out", out}).exit, 0);
    const std::string again = folder / "again.json";
    const Result made = orrery({"calibrate", "assemble", out + ".log", out + ".log", "--out", again});
    ASSERT_EQ(made.exit, 0) << made.err;
    Json expected = Json::parse(content_of(out)), found = Json::parse(content_of(again));
    for (const char* table : {"gemm", "pointwise", "copies"}) EXPECT_EQ(found[table], expected[table]) << table;
    const std::string other = folder.file("other.log", "{}\n");
    EXPECT_EQ(orrery({"calibrate", "assemble", out + ".log", other, "--out", again}).exit, 2);
    EXPECT_EQ(orrery({"calibrate", "--list", one}).exit, 2);
}

/// What a step's links will carry, not what it is for.
TEST(Calibrate, ListsWhatBringsAScatterAbout) {
    const Folder folder;
    const std::string list = folder / "points.json";
    const auto listed = [&](const std::string& by) {
        const Json plan = {{"data", 2}, {"sharding", "zero2"}, {"grad_reduce_collective", by}};
        Json scenario = Json::parse(content_of("scenarios/gpt-tiny-cpu.json"));
        scenario["strategy"] = plan;
        const std::string file = folder.file(by + ".json", scenario.dump());
        const Result result = orrery({"calibrate", "--for", file, "--ranks", "2", "--list", list});
        EXPECT_EQ(result.exit, 0) << result.err;
        return content_of(list);
    };
    EXPECT_NE(listed("reduce_scatter").find("reduce_scatter"), std::string::npos);
    EXPECT_EQ(listed("all_reduce").find("reduce_scatter"), std::string::npos);
}

/// The device program takes a SIGINT in the middle of its work, as by Ctrl-C.
TEST(Calibrate, StopsCleanlyAndGoesOn) {
    const Folder folder;
    const std::string out = folder / "cpu.json", device = ORRERY_DEVICE_PROGRAM;
    const std::string interrupted = folder.file("device", "#!/bin/sh\nexec timeout -s INT 3 " + device + " \"$@\"\n");
    std::filesystem::permissions(interrupted, std::filesystem::perms::owner_all);
    const std::vector<std::string> arguments{"calibrate", "--suite", "gemm", "--budget", "10min", "--out", out};
    const Result first = orrery(arguments, {"ORRERY_DEVICE=" + interrupted});
    EXPECT_NE(first.exit, 0);
    EXPECT_NE(first.err.find("the same command goes on from there"), std::string::npos) << first.err;
    EXPECT_EQ(folder.names(), (std::vector<std::string>{"cpu.json.log", "device"}));
    const Result second =
        orrery({"calibrate", "--suite", "gemm", "--budget", "1s", "--out", out}, {"ORRERY_DEVICE=" + device});
    ASSERT_EQ(second.exit, 0) << second.err;
    EXPECT_NE(second.out.find("from an earlier run"), std::string::npos) << second.out;
}

TEST(Calibrate, RefusesWhatItCannotMeasure) {
    const Folder folder;
    const std::string out = folder / "x.json";
    const auto expect_refused = [&](std::vector<std::string> arguments, const std::string& word) {
        arguments.insert(arguments.begin(), "calibrate");
        arguments.insert(arguments.end(), {"--out", out});
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << word;
        EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
    };
    expect_refused({"--device", "abacus"}, "abacus");
    expect_refused({"--suite", "weather"}, "weather");
    expect_refused({"--budget", "soon"}, "soon");
    expect_refused({"--ranks", "0"}, "--ranks is 0");
    expect_refused({"--points", folder / "none.json"}, "none.json");
    expect_refused({"--points", folder.file("bad.json", R"({"points": [{"warp": {}}]})")}, "/points/0");
    expect_refused({"--for", folder / "none.json"}, "none.json");
}

TEST(Calibrate, RefusesALogOfAnotherDevice) {
    const Folder folder;
    const std::string out = folder / "cpu.json", list = folder.file("points.json", points);
    ASSERT_EQ(orrery({"calibrate", "--points", list, "--out", out, "-q"}).exit, 0);
    const Result other = orrery({"calibrate", "--device", "cpu:2", "--points", list, "--out", out});
    EXPECT_EQ(other.exit, 2);
    EXPECT_NE(other.err.find("--fresh"), std::string::npos) << other.err;
    EXPECT_EQ(orrery({"calibrate", "--device", "cpu:2", "--points", list, "--out", out, "--fresh", "-q"}).exit, 0);
}

TEST(Calibrate, SaysWhereItLooksForTheDeviceProgram) {
    const Result result = orrery({"calibrate"}, {"ORRERY_DEVICE=/no/such/program"});
    EXPECT_EQ(result.exit, 2);
    EXPECT_NE(result.err.find("ORRERY_DEVICE"), std::string::npos) << result.err;
}

TEST(Calibrate, ComesBackWithTheExitCodeOfTheDeviceProgram) {
    EXPECT_EQ(orrery({"calibrate"}, {"ORRERY_DEVICE=/bin/true"}).exit, 0);
    EXPECT_EQ(orrery({"calibrate"}, {"ORRERY_DEVICE=/bin/false"}).exit, 1);
}

TEST(CalibrateShow, SupersedesProfileShow) {
    const Result shown = orrery({"calibrate", "show", "h100"});
    ASSERT_EQ(shown.exit, 0) << shown.err;
    for (const char* word : {"gemm bf16", "all_reduce, 8 ranks", "roofline", "sustained", "held-out", "launch_seconds"})
        EXPECT_NE(shown.out.find(word), std::string::npos) << word;
}

TEST(CalibrateCompare, FindsAProfileEqualToItself) {
    const Result same = orrery({"calibrate", "compare", "v100", "v100"});
    ASSERT_EQ(same.exit, 0) << same.err;
    EXPECT_NE(same.out.find("1.000x"), std::string::npos) << same.out;
    EXPECT_NE(orrery({"calibrate", "compare", "a100", "h100"}).out, same.out);
    EXPECT_EQ(orrery({"calibrate", "compare", "a100", "abacus"}).exit, 2);
}

TEST(CalibrateImport, ReadsNcclTests) {
    const Folder folder;
    const std::string text =
        folder.file("all_reduce.txt", R"(#  Rank  0 Group  0 Pid 1 on n1 device  0 [0x00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 2 on n1 device  1 [0x01] NVIDIA H100 80GB HBM3
        1024           256     float     sum      -1    12.00    0.09    0.09      0    12.00    0.09    0.09      0
     1048576        262144     float     sum      -1    30.00   34.95   34.95      0    30.00   34.95   34.95      0
)");
    const std::string out = folder / "node.json";
    const Result result = orrery({"calibrate", "import", "nccl-tests", text, "--into", "h100", "--out", out});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(orrery({"calibrate", "show", out}).out.find("nccl-tests, all_reduce.txt"), std::string::npos);
    EXPECT_EQ(orrery({"calibrate", "import", "nccl-tests", text}).exit, 2);
    EXPECT_EQ(orrery({"calibrate", "import", "nccl-tests", folder.file("x.txt", "hello"), "--out", out}).exit, 2);
}

}  // namespace
}  // namespace orrery::cli
