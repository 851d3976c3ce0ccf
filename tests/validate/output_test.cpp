#include "validate/output.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"

namespace orrery::validate {

using json = nlohmann::ordered_json;

namespace {

Report sample_report() {
    nlohmann::json skipped = test::megatron(), predicted = test::megatron();
    predicted["measured"]["memory_GB"] = 4;
    skipped["id"] = "sample/2";
    skipped["gpu"] = "P40";
    const nlohmann::json collective = {
        {"id", "ar"},
        {"kind", "collective"},
        {"gpu", "A100"},
        {"gpus", 8},
        {"nodes", 1},
        {"switches", {{"op", "all_reduce"}}},
        {"measured", {{"sweep", nlohmann::json::array({{{"bytes", 1e6}, {"time_us", 20}}})}}}};
    const test::Folder folder;
    const auto file =
        folder.write("lab.json", nlohmann::json{{"source", "lab"}, {"rows", {predicted, skipped, collective}}}.dump());
    return validate_files({file}, test::constant(5));
}

std::vector<std::string> keys(const json& object) {
    std::vector<std::string> result;
    for (const auto& [key, value] : object.items()) result.push_back(key);
    return result;
}

void expect_finite(const json& value) {
    EXPECT_TRUE(!value.is_number() || std::isfinite(value.get<double>()));
    if (!value.is_structured()) return;
    for (const json& member : value) expect_finite(member);
}

}  // namespace

TEST(Output, JsonShape) {
    const json document = to_json(sample_report());
    EXPECT_EQ(keys(document), (std::vector<std::string>{"version", "rows", "sources", "mean_of_medians", "within_tenth",
                                                        "inside_interval", "spearman", "ordered", "independent",
                                                        "repeated", "memory", "collectives"}));
    EXPECT_EQ(document["version"], 1);
    ASSERT_EQ(document["rows"].size(), 2U);
    const std::vector<std::string> row_keys = {"id",         "source",      "kind",  "status", "reason",
                                               "measured_s", "predicted_s", "error", "group",  "scenario"};
    EXPECT_EQ(keys(document["rows"][0]), row_keys);
    EXPECT_EQ(document["rows"][0]["status"], "predicted");
    EXPECT_TRUE(document["rows"][0]["reason"].is_null());
    EXPECT_EQ(document["rows"][0]["error"], 0.25);
    EXPECT_EQ(document["rows"][1]["status"], "skipped");
    EXPECT_EQ(document["rows"][1]["reason"], "gpu P40 has no profile");
    EXPECT_TRUE(document["rows"][1]["measured_s"].is_null());
    EXPECT_TRUE(document["rows"][1]["error"].is_null());
    EXPECT_EQ(keys(document["sources"][0]),
              (std::vector<std::string>{"source", "rows", "predicted", "skipped", "reasons", "median", "mean", "bias",
                                        "spearman", "pairs", "ordered_pairs", "worst"}));
    EXPECT_EQ(document["sources"][0]["reasons"]["gpu P40 has no profile"], 1);
    EXPECT_TRUE(document["sources"][0]["spearman"].is_null());
    EXPECT_EQ(document["mean_of_medians"], 0.25);
    EXPECT_EQ(document["within_tenth"], 0);
    EXPECT_TRUE(document["inside_interval"].is_null());
    EXPECT_TRUE(document["ordered"].is_null());
    EXPECT_EQ(document["independent"]["sources"], 1);
    EXPECT_EQ(document["memory"]["rows"][0]["measured_bytes"], 4.0 * (1ULL << 30));
    EXPECT_EQ(document["memory"]["rows"][0]["error"], -0.5);
    EXPECT_EQ(document["collectives"]["rows"][0]["sizes"], 1);
    expect_finite(document);
}

TEST(Output, EmptyTablesAreNullNotAbsent) {
    const json document = to_json({});
    EXPECT_TRUE(document["rows"].is_array());
    EXPECT_TRUE(document["mean_of_medians"].is_null());
    EXPECT_TRUE(document["memory"]["mean_of_medians"].is_null());
}

TEST(Output, NonFiniteNumbersBecomeNull) {
    Report report = sample_report();
    report.steps.rows[0].prediction = std::nan("");
    report.steps.sources[0].mean = INFINITY;
    const json document = to_json(report);
    EXPECT_TRUE(document["rows"][0]["predicted_s"].is_null());
    EXPECT_TRUE(document["sources"][0]["mean"].is_null());
    expect_finite(document);
}

TEST(Output, TextHoldsScoresReasonsAndWorst) {
    const std::string text = to_text(sample_report());
    EXPECT_NE(text.find("TRAINING STEPS"), std::string::npos);
    EXPECT_NE(text.find("mean of the source medians: 25.0%"), std::string::npos);
    EXPECT_NE(text.find("gpu P40 has no profile"), std::string::npos);
    EXPECT_NE(text.find("sample/1"), std::string::npos);
    EXPECT_NE(text.find("+25.0%"), std::string::npos);
    EXPECT_NE(text.find("MEMORY"), std::string::npos);
    EXPECT_NE(text.find("COLLECTIVES"), std::string::npos);
    EXPECT_EQ(text.back(), '\n');
    EXPECT_EQ(to_text({}), "");
}

TEST(Output, SameInputSameBytes) {
    EXPECT_EQ(to_json(sample_report()).dump(), to_json(sample_report()).dump());
    EXPECT_EQ(to_text(sample_report()), to_text(sample_report()));
}

}  // namespace orrery::validate
