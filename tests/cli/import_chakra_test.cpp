// orrery import chakra.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Arguments = std::vector<std::string>;

/// gpt-tiny-cpu on two ranks, written with its times.
Arguments exported(const Folder& folder) {
    return {"export",     "chakra",          "scenarios/gpt-tiny-cpu.json",
            "--set",      "strategy.data=2", "--global-batch",
            "8",          "--out",           folder / "chakra",
            "--durations"};
}

Arguments imported(const Folder& folder, const Arguments& more = {}) {
    Arguments all{"import",      "chakra", folder / "chakra/step", "--cluster", "scenarios/gpt-tiny-cpu.json",
                  "--precision", "fp32"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

TEST(ImportChakra, TakesAsLongAsTheScenarioThatWasExported) {
    const Folder folder;
    ASSERT_EQ(orrery(exported(folder)).exit, 0);
    const Result table = orrery(imported(folder));
    ASSERT_EQ(table.exit, 0) << table.err;
    for (const char* word : {"TRACE", "2 ranks (1 different)", "STEP", "kernels", "all_reduce", "bus GB/s"})
        EXPECT_NE(table.out.find(word), std::string::npos) << table.out;
    const auto predicted = nlohmann::json::parse(orrery({"simulate", "scenarios/gpt-tiny-cpu.json", "--set",
                                                         "strategy.data=2", "--global-batch", "8", "--json", "-"})
                                                     .out);
    const auto replayed = nlohmann::json::parse(orrery(imported(folder, {"--json", "-"})).out);
    const double seconds = predicted.at("step_time_s");
    EXPECT_NEAR(replayed.at("step_time_s").get<double>(), seconds, 1e-9 * seconds);
    EXPECT_EQ(replayed.at("ranks").size(), 2U);
    EXPECT_GT(replayed.at("communication").size(), 0U);
    const Result csv = orrery(imported(folder, {"--format", "csv", "--times", "work"}));
    ASSERT_EQ(csv.exit, 0) << csv.err;
    EXPECT_EQ(std::ranges::count(csv.out, '\n'), 3) << csv.out;
    EXPECT_EQ(csv.out.find("rank,alike,kernels_s,"), 0U) << csv.out;
}

TEST(ImportChakra, RefusesWhatCannotBeReplayed) {
    const Folder folder;
    ASSERT_EQ(orrery(exported(folder)).exit, 0);
    const std::string first = content_of(folder / "chakra/step.0.et");
    (void)folder.file("cut.0.et", std::string_view(first).substr(0, first.size() - 3));
    (void)folder.file("alone.0.et", first);
    const std::string one_node = "scenarios/gpt-tiny-cpu.json";
    for (const Arguments& arguments : {Arguments{"import", "chakra", folder / "none", "--cluster", "dgx-a100"},
                                       {"import", "chakra", folder / "cut", "--cluster", "dgx-a100"},
                                       {"import", "chakra", folder / "alone", "--cluster", "dgx-a100"},
                                       {"import", "chakra", folder / "chakra/step"},
                                       imported(folder, {"--groups", folder / "none.json"}),
                                       imported(folder, {"--precision", "int8"}),
                                       imported(folder, {"--times", "never"}),
                                       imported(folder, {"--set", "cluster.nodes=many"})}) {
        const Result result = orrery(arguments);
        EXPECT_EQ(result.exit, 2) << result.out;
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find("\n  hint: "), std::string::npos) << result.err;
    }
}

}  // namespace
}  // namespace orrery::cli
