// orrery placement, and placements given to other commands.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.hpp"

namespace orrery::cli {
namespace {

using Json = nlohmann::json;

/// 64 GPUs on one switch with a single NIC a node.
std::string scenario(const std::string& more = "") {
    return R"({"model": {"name": "gpt3-1.3b"},
        "cluster": {"preset": "ethernet", "nodes": 8, "gpu": "A100-80GB", "gpus_per_node": 8, "nics_per_node": 1},
        "strategy": {"tensor": 4, "pipeline": 4, "data": 4)" +
           more + R"(}, "training": {"seq_length": 1024, "micro_batch_size": 1, "global_batch_size": 32}})";
}

TEST(Placement, PrintsOrdersFastestFirst) {
    const Folder folder;
    const Result result = orrery({"placement", folder.file("s.json", scenario())});
    ASSERT_EQ(result.exit, 0) << result.err;
    for (const char* word : {"64 GPUs, fastest placement first", "placement", "against now", "nodes of a tensor group",
                             "linear", "tp-pp-dp", "dp-pp-tp", "round_robin"})
        EXPECT_NE(result.out.find(word), std::string::npos) << word << " is missing from\n" << result.out;
    EXPECT_LT(result.out.find("tp-pp-dp"), result.out.find("pp-dp-tp")) << "tensor groups belong into nodes";
}

TEST(Placement, WritesWhatItRecommendsAsJson) {
    const Folder folder;
    const std::string file = folder.file("s.json", scenario(R"(, "placement": "round_robin")"));
    const Result result = orrery({"placement", file, "--json", "-"});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json report = Json::parse(result.out);
    std::set<std::string> names;
    double before = 0, now = 0;
    for (const Json& each : report.at("placements")) {
        names.insert(each.at("placement"));
        EXPECT_GE(each.at("step_time_s").get<double>(), before) << "fastest first";
        before = each.at("step_time_s");
        if (each.at("current") == true) now = each.at("step_time_s");
        EXPECT_EQ(each.at("current"), each.at("placement") == "round_robin");
    }
    EXPECT_EQ(names, (std::set<std::string>{"tp-dp-pp", "tp-pp-dp", "dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp",
                                            "round_robin"}));
    const std::string best = report.at("recommended");
    EXPECT_TRUE(best.starts_with("tp-")) << best;
    const Json& first = report.at("placements").at(0);
    EXPECT_EQ(first.at("placement"), best);
    EXPECT_EQ(first.at("nodes").at("tensor"), 1);
    EXPECT_NEAR(first.at("change").get<double>(), first.at("step_time_s").get<double>() / now - 1, 1e-12);

    // What is recommended is what a simulation of it says.
    const Result simulated = orrery({"simulate", file, "--set", "strategy.placement=" + best, "--json", "-"});
    ASSERT_EQ(simulated.exit, 0) << simulated.err;
    const Json prediction = Json::parse(simulated.out);
    EXPECT_EQ(prediction.at("step_time_s"), first.at("step_time_s"));
    EXPECT_EQ(prediction.at("scenario").at("strategy").at("placement"), best);
}

TEST(Placement, LeavesOutWhatIsTooLarge) {
    const Result result = orrery({"placement", "scenarios/gpt-1t-superpod-a100.json", "--json", "-"});
    ASSERT_EQ(result.exit, 0) << result.err;
    const Json report = Json::parse(result.out);
    EXPECT_EQ(report.at("placements").size(), 2U);
    EXPECT_EQ(report.at("not_simulated"), Json({"dp-tp-pp", "dp-pp-tp", "pp-tp-dp", "pp-dp-tp", "round_robin"}));
}

TEST(Placement, AFileIsOneOfThem) {
    const Folder folder;
    (void)folder.file("gpus.txt", "# stages' neighbours in other nodes\n32-63\n1-31\n0\n");
    const std::string file = folder.file("s.json", scenario(R"(, "placement_file": "gpus.txt")"));
    const Result result = orrery({"placement", file});
    ASSERT_EQ(result.exit, 0) << result.err;
    EXPECT_NE(result.out.find("gpus.txt"), std::string::npos) << result.out;
    EXPECT_NE(result.out.find(" --set strategy.placement_file=null\n"), std::string::npos) << result.out;
    const Result verified = orrery({"simulate", file, "--fold", "verify"});
    EXPECT_EQ(verified.exit, 0) << verified.out << verified.err;
    EXPECT_NE(verified.out.find("placed by"), std::string::npos) << verified.out;
}

TEST(Placement, BadInputIsNamed) {
    const Folder folder;
    (void)folder.file("short.txt", "0-3\n");
    const auto expect_refused = [&](const std::string& more, const std::string& mention) {
        const Result result = orrery({"placement", folder.file("s.json", scenario(more))});
        EXPECT_EQ(result.exit, 2);
        EXPECT_EQ(result.out, "");
        EXPECT_NE(result.err.find(mention), std::string::npos) << result.err << "\nlacks " << mention;
        EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
    };
    expect_refused(R"(, "placement": "best")", "/strategy/placement: \"best\" is neither a layout nor an axis");
    expect_refused(R"(, "placement": "tp-dp")", "leaves out pipeline");
    expect_refused(R"(, "placement": "0-62,0")", "ranks 0 and 63 are both on GPU 0");
    expect_refused(R"(, "placement_file": "short.txt")", "short.txt: 4 GPUs for 64 ranks");
    expect_refused(R"(, "placement_file": "missing.txt")", "missing.txt");
    const Result nothing = orrery({"placement"});
    EXPECT_EQ(nothing.exit, 2);
    const Result overwrite = orrery({"placement", folder / "s.json", "--json", folder / "s.json"});
    EXPECT_EQ(overwrite.exit, 2);
}

}  // namespace
}  // namespace orrery::cli
