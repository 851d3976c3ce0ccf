// --format: what standard output holds, of every command that prints a table.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

constexpr const char* shipped = "scenarios/gpt-tiny-cpu.json";

Arguments with(Arguments command, const char* format) {
    command.insert(command.end(), {"--format", format});
    return command;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

/// Cells of a line whose texts hold no commas.
std::size_t cells(const std::string& line) {
    bool quoted = false;
    std::size_t count = 1;
    for (const char c : line) {
        if (c == '"') quoted = !quoted;
        count += c == ',' && !quoted ? 1 : 0;
    }
    return count;
}

TEST(Format, IsOneTableOrOneDocumentAndNothingElse) {
    const Arguments commands[]{{"simulate", shipped},
                               {"explain", shipped},
                               {"topology", "scenarios/gpt3-175b-superpod-a100.json"},
                               {"placement", shipped},
                               {"sweep", shipped, "--vary", "training.micro_batch_size=1,2"},
                               {"search", shipped, "--top", "3"},
                               {"collective", "all_reduce", "--cluster", "dgx-h100", "--gpus", "8"},
                               {"validate", "scenarios/validation/bigscience_more.json"},
                               {"calibrate", "show", "h100"},
                               {"calibrate", "compare", "h100", "a100"},
                               {"profile", "show", "h100"},
                               {"run", shipped, "--steps", "3", "--warmup", "1"},
                               {"list", "gpus"},
                               {"list", "models"},
                               {"list", "clusters"},
                               {"list", "fabrics"},
                               {"list", "strategies"},
                               {"list", "scenarios"},
                               {"list", "profiles"},
                               {"list", "keys"}};
    for (const Arguments& command : commands) {
        const std::string name = command[0] + ' ' + command[1];
        const Result csv = orrery(with(command, "csv")), json = orrery(with(command, "json"));
        EXPECT_EQ(csv.exit, 0) << name << ": " << csv.err;
        EXPECT_EQ(csv.err, "") << name;
        const auto lines = lines_of(csv.out);
        ASSERT_GT(lines.size(), 1U) << name;
        EXPECT_GT(cells(lines[0]), 2U) << name << ": " << lines[0];
        for (const std::string& line : lines) EXPECT_EQ(cells(line), cells(lines[0])) << name << ": " << line;
        EXPECT_EQ(json.exit, 0) << name << ": " << json.err;
        EXPECT_FALSE(Json::parse(json.out, nullptr, false).is_discarded()) << name << ": " << json.out.substr(0, 200);
    }
}

TEST(Format, HoldsNumbersToTheLastBit) {
    const Json gpus = Json::parse(orrery({"list", "gpus", "--format", "json"}).out);
    const auto h100 =
        std::find_if(gpus.begin(), gpus.end(), [](const Json& gpu) { return gpu["gpu"] == "H100-SXM5-80GB"; });
    ASSERT_NE(h100, gpus.end());
    EXPECT_EQ(h100->at("memory_bytes"), std::uint64_t{80} << 30U);
    EXPECT_EQ(h100->at("half_flops"), 989.4e12);
    const Result stages = orrery({"simulate", "scenarios/gpt3-175b-superpod-a100.json", "--format", "csv"});
    EXPECT_EQ(lines_of(stages.out).size(), 9U) << "a line a stage";
    EXPECT_TRUE(stages.out.starts_with("stage,breakdown_s.gemm,")) << stages.out.substr(0, 200);
}

TEST(Format, SaysTheSameAsTheFiles) {
    const Folder folder;
    const std::string file = folder / "sweep.csv";
    const Arguments sweep{"sweep", shipped, "--vary", "training.micro_batch_size=1,2", "--csv", file};
    const Result printed = orrery(with(sweep, "csv"));
    EXPECT_EQ(printed.exit, 0) << printed.err;
    EXPECT_EQ(printed.out, content_of(file));
    const Result document = orrery({"simulate", shipped, "--json", folder / "a.json", "--format", "json"});
    EXPECT_EQ(document.out, content_of(folder / "a.json"));
}

TEST(Format, OfAComparisonKeepsItsExitCode) {
    const Folder folder;
    const std::string predicted = folder / "p.json";
    ASSERT_EQ(orrery({"simulate", shipped, "--operations", "--json", predicted, "-q"}).exit, 0);
    Json slower = Json::parse(content_of(predicted));
    slower["step_time_s"] = slower["step_time_s"].get<double>() * 2;
    const std::string measured = folder.file("m.json", slower.dump());
    const Result csv = orrery({"compare", predicted, measured, "--format", "csv"});
    EXPECT_EQ(csv.exit, 1) << csv.err;
    EXPECT_TRUE(csv.out.starts_with("part,name,kind,count,predicted,measured,error\nstep,step,,,")) << csv.out;
    EXPECT_NE(csv.out.find("\noperation,qkv (forward),gemm,"), std::string::npos) << csv.out;
    const Result diff = orrery({"diff", predicted, measured, "--format", "csv"});
    EXPECT_TRUE(diff.out.starts_with("part,name,before,after\n")) << diff.out << diff.err;
}

TEST(Format, RefusesWhatItCannotBe) {
    EXPECT_EQ(orrery({"simulate", shipped, "--format", "xml"}).exit, 2);
    const Result twice = orrery({"simulate", shipped, "--format", "csv", "--json", "-"});
    EXPECT_EQ(twice.exit, 2);
    EXPECT_NE(twice.err.find("two outputs are to go to \"-\""), std::string::npos) << twice.err;
    EXPECT_EQ(twice.out, "");
    EXPECT_EQ(orrery({"list", "keys", "--markdown", "--format", "csv"}).exit, 2);
    EXPECT_EQ(orrery({"validate", "--run", shipped, "--format", "csv"}).exit, 2);
}

TEST(Format, KeepsHostileNamesFromBecomingFormulas) {
    const Folder folder;
    const Result csv = orrery({"sweep", shipped, "--vary", "name==cmd(),+x", "--format", "csv"});
    EXPECT_EQ(csv.exit, 0) << csv.err;
    EXPECT_NE(csv.out.find("\n'=cmd(),"), std::string::npos) << csv.out;
    EXPECT_NE(csv.out.find("\n'+x,"), std::string::npos) << csv.out;
}

}  // namespace
}  // namespace orrery::cli
