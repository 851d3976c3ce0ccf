#include "validate/ratios.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/validate/sample.hpp"
#include "validate/output.hpp"
#include "validate/rows.hpp"

namespace orrery::validate {

namespace {

using nlohmann::json;

/// Eight data ranks and one, each with two sequences a step.
json ranks(std::uint32_t count) {
    return {{"model", {{"name", "gpt2"}}},
            {"cluster", {{"preset", "dgx-a100"}, {"gpus_per_node", count}}},
            {"strategy", {{"data", count}}},
            {"training", {{"seq_length", 1024}, {"micro_batch_size", 2}, {"global_batch_size", 2 * count}}}};
}

json ratio_row(const json& patch = json::object()) {
    return test::with({{"id", "eight"},
                       {"kind", "ratio"},
                       {"source", "a paper"},
                       {"scenario", ranks(8)},
                       {"base", ranks(1)},
                       {"measured", {{"unit", "speedup over 1 GPU"}, {"value", 5}}}},
                      patch);
}

Report report_of(const std::vector<json>& rows, const Predictor& predictor) {
    const test::Folder folder;
    return validate_files({folder.write("lab.json", json{{"source", "lab"}, {"rows", rows}}.dump())}, predictor);
}

std::string why(const json& patch) {
    const Report report = report_of({ratio_row(patch)}, test::constant(2));
    return report.ratios.rows.at(0).reason;
}

}  // namespace

TEST(Ratios, AreThroughputsOfOnePlanOverAnother) {
    Predictor slower = test::constant(2);
    slower.step = [constant = slower.step](const scenarios::Scenario& scenario) {
        sim::Prediction prediction = constant(scenario);
        if (scenario.plan.strategy.data == 8) prediction.step_time_s = 4;
        return prediction;
    };
    const Report report = report_of({ratio_row()}, slower);
    ASSERT_EQ(report.ratios.rows.size(), 1U);
    EXPECT_EQ(report.ratios.rows[0].reason, "");
    EXPECT_DOUBLE_EQ(report.ratios.rows[0].measured, 5);
    EXPECT_DOUBLE_EQ(report.ratios.rows[0].prediction, 4) << "eight times the samples in twice the time";
    EXPECT_DOUBLE_EQ(report.ratios.rows[0].error, -0.2);
    EXPECT_TRUE(report.steps.rows.empty()) << "no ratio counts as a time";
    EXPECT_NE(to_text(report).find("RATIOS"), std::string::npos);
    EXPECT_EQ(to_json(report)["ratios"]["sources"][0]["source"], "lab");
}

TEST(Ratios, OfRatesAreOverAnotherRowOfTheFile) {
    const json rate = {{"measured", {{"unit", "samples/s"}, {"value", 400}}}};
    json one = test::with(ratio_row(rate), {{"id", "one"}, {"scenario", ranks(1)}, {"measured", {{"value", 100}}}});
    one.erase("base");
    json eight = ratio_row(rate);
    eight["base"] = "one";
    const Report report = report_of({one, eight}, test::constant(2));
    EXPECT_EQ(report.ratios.rows[0].reason, "base of other ratios");
    EXPECT_DOUBLE_EQ(report.ratios.rows[1].measured, 4);
    EXPECT_DOUBLE_EQ(report.ratios.rows[1].prediction, 8);
}

TEST(Ratios, WhatIsNotComparedIsNamed) {
    EXPECT_EQ(why({{"measured", {{"unit", "fraction"}}}}), "no ratio of throughputs");
    EXPECT_EQ(why({{"measured", {{"unit", "samples/s"}}}}), "base is no row of its file");
    EXPECT_EQ(why({{"measured", {{"value", 0}}}}), "measured value is not positive");
    EXPECT_EQ(why({{"scenario", nullptr}}), "plan not published");
    EXPECT_EQ(why({{"scenario", 3}}), "field of a wrong type: scenario");
    EXPECT_EQ(why({{"scenario", {{"strategy", {{"data", 3}}}}}}).substr(0, 17), "scenario refused ");
    EXPECT_EQ(why({{"base", "nobody"}}), "base is no row of its file");
    EXPECT_EQ(why({{"base", 3}}), "field of a wrong type: base");
    EXPECT_EQ(why({{"unmodelled", "Horovod's fusion cycle"}}), "not modelled: Horovod's fusion cycle");
    EXPECT_EQ(why({{"flags", {"doubtful"}}}), "row contradicts itself (flags)");
}

TEST(Ratios, OfTheCarriedSetSayWhatIsAssumed) {
    const std::filesystem::path file = "scenarios/validation/whale.json";
    for (const Row& row : load_rows(file).rows) EXPECT_EQ(row.has("scenario"), row.has("assumed")) << row.id();
}

}  // namespace orrery::validate
