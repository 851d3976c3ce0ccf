// Whole trainings as rows: what is compared, what is not, and that every carried one can be read.
#include "validate/training_runs.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "reliability/goodput.hpp"
#include "tests/validate/sample.hpp"
#include "validate/rows.hpp"
#include "validate/run.hpp"

namespace orrery::validate {
namespace {

using nlohmann::json;

json fields() {
    return {{"id", "r"},
            {"kind", "training_run"},
            {"gpus", 16},
            {"measured", {{"gpu_hours", 1000}}},
            {"scenario",
             {{"model", {{"name", "gpt3-1.3b"}}},
              {"cluster", {{"preset", "dgx-a100"}, {"nodes", 2}}},
              {"training", {{"seq_length", 2048}, {"global_batch_size", 512}}},
              {"outputs", {{"token_budget", "100B"}}}}}};
}

/// 16 GPUs, 100 hours of work at a goodput of 0.8.
sim::Prediction fixed(const scenarios::Scenario& scenario) {
    EXPECT_TRUE(scenario.whole_run);
    sim::Prediction p;
    p.gpus = 16;
    auto forecast = std::make_shared<reliability::Forecast>();
    forecast->run.work = 100 * 3600;
    forecast->mean.work = 100 * 3600;
    forecast->mean.restart = 25 * 3600;
    p.whole_run = forecast;
    return p;
}

TrainingRunValues compare(const json& row, Quantity quantity) {
    return compare_training_run(test::row_of(row), quantity, fixed);
}

TEST(TrainingRuns, GpuHoursAreGpusTimesWallClock) {
    const TrainingRunValues values = compare(fields(), Quantity::gpu_hours);
    EXPECT_DOUBLE_EQ(values.measured, 1000);
    EXPECT_DOUBLE_EQ(values.predicted, 2000);
    EXPECT_DOUBLE_EQ(values.error, 1);
    json days = fields();
    days["measured"] = {{"days", 5}};
    EXPECT_DOUBLE_EQ(compare(days, Quantity::gpu_hours).measured, 5 * 24 * 16);
}

TEST(TrainingRuns, GoodputIsComparedInPoints) {
    json row = fields();
    row["measured"] = {{"goodput", 0.9}};
    EXPECT_NEAR(compare(row, Quantity::goodput).error, -0.1, 1e-12);
    row["measured"] = {{"goodput_at_least", 0.7}};
    EXPECT_EQ(compare(row, Quantity::goodput).error, 0);
    row["measured"] = {{"goodput_at_least", 0.9}};
    EXPECT_NEAR(compare(row, Quantity::goodput).error, -0.1, 1e-12);
}

TEST(TrainingRuns, TimeBetweenFailuresNeedsNoPlan) {
    json row{{"id", "r"}, {"kind", "training_run"}, {"gpus", 16384}, {"measured", {{"mttf_hours", 1.8}}}};
    row["scenario"] = {{"reliability", {{"failures_per_1000_node_days", 6.5}}}};
    EXPECT_NEAR(compare(row, Quantity::mttf).predicted, 1.803, 0.001);
}

TEST(TrainingRuns, EnergyIsAtDesignPower) {
    json row = fields();
    row["measured"] = {{"energy_mwh", 1}, {"pue", 1.1}};
    EXPECT_NEAR(compare(row, Quantity::energy).predicted, 2000 * 0.4 * 1.1 / 1e3, 1e-12);
}

TEST(TrainingRuns, WhatADefaultComesFromIsNotScored) {
    json row = fields();
    row["origin_of"] = {"GPU-hours"};
    EXPECT_EQ(test::reason_of([&] { (void)compare(row, Quantity::gpu_hours); }), "a constant comes from it");
    row.erase("scenario");
    row.erase("origin_of");
    EXPECT_EQ(test::reason_of([&] { (void)compare(row, Quantity::gpu_hours); }), "plan not published");
}

TEST(TrainingRuns, WhatItsSourceSpeaksAgainstIsNotScored) {
    json row = fields();
    row["measured"]["energy_mwh"] = 1;
    row["doubtful"] = {{"GPU-hours", "time of access"}};
    EXPECT_EQ(test::reason_of([&] { (void)compare(row, Quantity::gpu_hours); }),
              "doubtful: its source says that other things are in it");
    EXPECT_NEAR(compare(row, Quantity::energy).predicted, 0.8, 1e-12);
}

TEST(TrainingRuns, WhatIsAssumedHasAScoreOfItsOwn) {
    json row = fields();
    const auto score = [&](Quantity quantity) { return score_of(test::row_of(row), quantity); };
    EXPECT_EQ(score(Quantity::gpu_hours), "GPU-hours");
    EXPECT_EQ(score(Quantity::goodput), "goodput");
    EXPECT_EQ(score(Quantity::mttf), "MTTF, rate of others");
    row["plan"] = "assumed";
    row["rate_of"] = "jobs of one node";
    EXPECT_EQ(score(Quantity::gpu_hours), "GPU-hours, plan assumed");
    EXPECT_EQ(score(Quantity::energy), "energy, plan assumed");
    EXPECT_EQ(score(Quantity::mttf), "MTTF");
}

TEST(TrainingRuns, RowsThatCannotBeReadAreSkippedByName) {
    const test::Folder folder;
    const auto reason = [&](const json& measured) {
        json row = fields();
        row["measured"] = measured;
        const auto file = folder.write("rows.json", json{{"rows", {row}}}.dump());
        const Report report = validate_files({file}, test::constant(1));
        EXPECT_EQ(report.trainings.rows.size(), 1U);
        return report.trainings.rows.empty() ? "" : report.trainings.rows[0].reason;
    };
    EXPECT_EQ(reason("many"), "field of a wrong type: measured");
    EXPECT_EQ(reason(json::object()), "nothing of a whole training is measured");
    EXPECT_EQ(reason({{"gpu_hours", -1}}), "no whole run was predicted");
}

TEST(TrainingRuns, EveryCarriedOneIsRead) {
    std::size_t runs = 0, plans = 0;
    for (const Row& row : load_rows("scenarios/validation/training_runs.json").rows) {
        ++runs;
        EXPECT_EQ(row.kind(), "training_run");
        EXPECT_FALSE(measured_quantities(row).empty()) << row.id();
        const std::string why = test::reason_of([&] { (void)training_run_scenario(row); });
        EXPECT_TRUE(why.empty() || why == "plan not published") << row.id() << ": " << why;
        plans += why.empty() ? 1 : 0;
        if (why.empty()) {
            EXPECT_EQ(row.count("gpus"), training_run_scenario(row).gpus) << row.id();
        }
    }
    EXPECT_GE(runs, 30U);
    EXPECT_GE(plans, 25U);
}

}  // namespace
}  // namespace orrery::validate
