// orrery collective.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

std::vector<std::vector<std::string>> rows_of(const std::string& text) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream words(line);
        std::vector<std::string>& row = rows.emplace_back();
        for (std::string word; words >> word;) row.push_back(word);
    }
    return rows;
}

TEST(Collective, PrintsAsNcclTestsDo) {
    const Result result = orrery({"collective", "all_reduce", "--cluster", "superpod-a100", "--gpus", "64", "--bytes",
                                  "1M..16M", "--factor", "4"});
    EXPECT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong",
                             "# Avg bus bandwidth", "# busiest"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word;
    const auto rows = rows_of(result.out);
    ASSERT_EQ(rows.size(), 3U) << result.out;
    EXPECT_EQ(rows[0][0], "1048576");
    EXPECT_EQ(rows[0][1], "262144") << "floats";
    EXPECT_EQ(rows[2][0], "16777216");
    EXPECT_NEAR(std::stod(rows[2][7]) / std::stod(rows[2][6]), 2 * 63 / 64.0, 0.01) << "busbw over algbw";
    EXPECT_NEAR(16777216 / std::stod(rows[2][5]) / 1e3, std::stod(rows[2][6]), 0.02) << "algbw is size over time";
}

TEST(Collective, WritesJson) {
    const Result result = orrery({"collective", "alltoall", "--cluster", "dgx-h100", "--set", "cluster.nodes=4",
                                  "--bytes", "64M", "--json", "-"});
    EXPECT_EQ(result.exit, 0) << result.err;
    const Json json = Json::parse(result.out);
    EXPECT_EQ(json["gpus"], 32);
    EXPECT_EQ(json["collective"], "all_to_all");
    EXPECT_EQ(json["rows"][0]["algorithm"], "pxn");
    EXPECT_FALSE(json["rows"][0]["busiest_links"].empty());
}

/// 4 GB among four V100 that are joined pairwise, by a table of four of a cube mesh.
TEST(Collective, SaysOnWhichNvlinksItIs) {
    const Result result = orrery({"collective", "all_reduce", "--cluster", "v100-4", "--set", "cluster.nodes=1",
                                  "--bytes", "4G", "--json", "-"});
    EXPECT_EQ(result.exit, 0) << result.err;
    const Json row = Json::parse(result.out)["rows"][0];
    EXPECT_NE(row["why"].get<std::string>().find("of 100 GB/s of each rank's NVLinks, here 150: read at"),
              std::string::npos)
        << row["why"];
}

TEST(Collective, OptionsHaveAnEffect) {
    const std::vector<std::string> base{"collective", "all_reduce", "--cluster", "superpod-a100",
                                        "--gpus",     "64",         "--bytes",   "32M"};
    const std::string usual = orrery(base).out;
    for (const std::vector<std::string>& more : {std::vector<std::string>{"--algorithm", "hierarchical"},
                                                 {"--protocol", "ll"},
                                                 {"--gpus", "128"},
                                                 {"--bytes", "33M"},
                                                 {"--profile", "h100"},
                                                 {"--algorithm", "torus_ring", "--grid", "8x8"}}) {
        std::vector<std::string> arguments = base;
        for (std::size_t i = 0; i + 1 < more.size(); i += 2) {
            const auto at = std::ranges::find(arguments, more[i]);
            if (at != arguments.end()) arguments.erase(at, at + 2);
        }
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 0) << result.err;
        EXPECT_NE(result.out, usual) << more[0] << ' ' << more[1];
    }
}

TEST(Collective, RefusesBadInputWithTheNearestNames) {
    struct Bad {
        std::vector<std::string> arguments;
        const char* mention;
    };
    const std::string preset = "dgx-h100";
    for (const Bad& bad : std::vector<Bad>{
             {{"all_reduc", "--cluster", preset}, "all_reduce"},
             {{"all_reduce", "--cluster", "dgxh100"}, "dgx-h100"},
             {{"all_reduce"}, "--cluster"},
             {{"all_reduce", "--cluster", preset, "--algorithm", "rings"}, "ring"},
             {{"all_to_all", "--cluster", preset, "--algorithm", "tree"}, "pxn"},
             {{"all_reduce", "--cluster", preset, "--protocol", "l128"}, "ll128"},
             {{"all_to_all", "--cluster", preset, "--protocol", "ll"}, "simple"},
             {{"all_reduce", "--cluster", preset, "--bytes", "3X"}, "3X"},
             {{"all_reduce", "--cluster", preset, "--bytes", "0"}, "between"},
             {{"all_reduce", "--cluster", preset, "--bytes", "nan"}, "--bytes"},
             {{"all_reduce", "--cluster", preset, "--bytes", "2M..1M"}, "below"},
             {{"all_reduce", "--cluster", preset, "--bytes", "1..1G", "--factor", "1"}, "--factor"},
             {{"all_reduce", "--cluster", preset, "--bytes", "1..1G", "--factor", "1.0001"}, "1000 sizes"},
             {{"all_reduce", "--cluster", preset, "--gpus", "0"}, "--gpus"},
             {{"all_reduce", "--cluster", preset, "--set", "cluster.nodes=1", "--gpus", "9"}, "cluster.nodes=2"},
             {{"all_reduce", "--cluster", preset, "--set", "cluster.node=3"}, "nodes"},
             {{"all_reduce", "--cluster", preset, "--set", "strategy.tensor=3"}, "cluster.nodes=16"},
             {{"all_reduce", "--cluster", preset, "--profile", "q"}, "h100"},
             {{"all_reduce", "--cluster", preset, "--algorithm", "torus_ring", "--grid", "4x4"}, "4 x 4"},
             {{"all_reduce", "--cluster", preset, "--algorithm", "torus_ring", "--grid", "4xx4"}, "--grid"},
             {{"all_reduce", "--cluster", preset, "--grid", "4x4"}, "--algorithm torus_ring"}}) {
        std::vector<std::string> arguments{"collective"};
        arguments.insert(arguments.end(), bad.arguments.begin(), bad.arguments.end());
        const Result result = orrery(arguments);
        SCOPED_TRACE(result.err);
        EXPECT_EQ(result.exit, 2) << bad.mention;
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find(bad.mention), std::string::npos) << bad.mention;
    }
}

}  // namespace
}  // namespace orrery::cli
