#include "validate/run.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tests/validate/sample.hpp"
#include "validate/output.hpp"
#include "validate/scenario_key.hpp"

namespace orrery::validate {

using nlohmann::json;

namespace {

std::string file_of(const std::vector<json>& rows, const char* source = "lab") {
    return json{{"source", source}, {"rows", rows}}.dump();
}

json row(const json& patch) { return test::with(test::megatron(), patch); }

Report run(const std::vector<json>& rows, const Predictor& predictor) {
    const test::Folder folder;
    return validate_files({folder.write("lab.json", file_of(rows))}, predictor);
}

}  // namespace

TEST(Run, PredictsAndSkipsInInputOrder) {
    const Report report = run({row({{"id", "one"}}), row({{"id", "two"}, {"gpu", "TPU v2"}}),
                               row({{"id", "three"}, {"measured", {{"step_time_s", 10}}}})},
                              test::constant(5));
    const auto& rows = report.steps.rows;
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].id, "one");
    EXPECT_DOUBLE_EQ(rows[0].error, 0.25);
    EXPECT_EQ(rows[1].reason, "gpu TPU v2 has no profile");
    EXPECT_DOUBLE_EQ(rows[2].error, -0.5);
    EXPECT_TRUE(report.memory.rows.empty());
    EXPECT_TRUE(report.collectives.rows.empty());
}

TEST(Run, KindsThatAreNotPredictedAreNamed) {
    const Report report =
        run({row({{"kind", "kernel"}}), row({{"kind", "simulated"}}), row({{"kind", "song"}})}, test::constant(1));
    EXPECT_EQ(report.steps.rows[0].reason, "kernel: not a training step");
    EXPECT_EQ(report.steps.rows[1].reason, "simulated: not a measurement");
    EXPECT_EQ(report.steps.rows[2].reason, "kind of row is not known");
}

TEST(Run, MemoryHasItsOwnTable) {
    const json gib = {{"memory_GB", 1}};
    const Report report = run({row({{"measured", gib}}),
                               row({{"kind", "memory"}, {"measured", {{"step_time_s", nullptr}, {"memory_GB", 4}}}}),
                               row({{"kind", "memory"}})},
                              test::constant(4));
    ASSERT_EQ(report.memory.rows.size(), 3U);
    EXPECT_DOUBLE_EQ(report.memory.rows[0].error, 1.0);  // 2 GiB predicted, 1 GiB measured
    EXPECT_DOUBLE_EQ(report.memory.rows[1].error, -0.5);
    EXPECT_EQ(report.memory.rows[2].reason, "no peak memory measured");
    EXPECT_EQ(report.steps.rows.size(), 1U);
}

TEST(Run, ACollectivesErrorIsTheMedianOverItsSizes) {
    // 100 GB/s: 1e5 bytes take 1 us, 1e6 10 us, 1e7 100 us; measured twice, equal and half of that.
    const json fields = {{"id", "ar"},
                         {"kind", "collective"},
                         {"gpu", "A100"},
                         {"gpus", 8},
                         {"nodes", 1},
                         {"switches", {{"op", "all_reduce"}}},
                         {"measured",
                          {{"sweep", json::array({{{"bytes", 1e5}, {"time_us", 2}},
                                                  {{"bytes", 1e6}, {"time_us", 10}},
                                                  {{"bytes", 1e7}, {"time_us", 50}}})}}}};
    const Report report = run({fields}, test::constant(1));
    ASSERT_EQ(report.collectives.rows.size(), 1U);
    const Result& result = report.collectives.rows[0];
    EXPECT_TRUE(result.predicted) << result.reason;
    EXPECT_NEAR(result.error, 0.5, 1e-12);  // |-0.5|, |0|, |+1|
    EXPECT_NEAR(result.signed_error, 0.0, 1e-12);
    EXPECT_EQ(result.sizes, 3U);
    EXPECT_TRUE(report.steps.rows.empty());
}

TEST(Run, RefusalsAndFailuresAreReasons) {
    Predictor predictor = test::constant(1);
    predictor.step = [](const scenarios::Scenario& scenario) -> sim::Prediction {
        if (scenario.name == "refused") throw Error("", "/strategy/tensor", "7 does not divide 16");
        if (scenario.plan.training.global_batch == 128) throw std::runtime_error("bug");
        sim::Prediction prediction;
        prediction.step_time_s =
            scenario.plan.training.global_batch == 256 ? std::numeric_limits<double>::quiet_NaN() : 0;
        return prediction;
    };
    const Report report =
        run({row({{"id", "refused"}}), row({{"gbs", 128}}), row({{"gbs", 256}}), row({{"gbs", 512}})}, predictor);
    EXPECT_EQ(report.steps.rows[0].reason, "refused at /strategy/tensor");
    EXPECT_EQ(report.steps.rows[1].reason, "prediction failed");
    EXPECT_EQ(report.steps.rows[2].reason, "prediction is not finite");
    EXPECT_EQ(report.steps.rows[3].reason, "prediction is not finite");
}

TEST(Run, EqualScenariosArePredictedOnce) {
    int calls = 0;
    Predictor predictor = test::constant(4);
    predictor.step = [&calls, step = predictor.step](const scenarios::Scenario& scenario) {
        ++calls;
        return step(scenario);
    };
    const Report report = run({row({{"id", "a"}}), row({{"id", "b"}, {"measured", {{"memory_GB", 1}}}}),
                               row({{"id", "c"}, {"tp", 4}, {"dp", 4}})},
                              predictor);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(report.steps.sources[0].predicted, 3U);
    EXPECT_NE(scenario_key(test::mapped({})), scenario_key(test::mapped({{"sp", true}})));
    EXPECT_EQ(scenario_key(test::mapped({})), scenario_key(test::mapped({{"id", "other"}})));
}

TEST(Run, ReportsProgressAndChecksFilesFirst) {
    const test::Folder folder;
    const auto good = folder.write("good.json", file_of({row({}), row({})}));
    const auto bad = folder.write("bad.json", "{}");
    std::vector<std::size_t> done;
    const auto progress = [&](std::size_t now, std::size_t total) {
        EXPECT_EQ(total, 2U);
        done.push_back(now);
    };
    validate_files({good}, test::constant(1), progress);
    EXPECT_EQ(done, (std::vector<std::size_t>{1, 2}));
    done.clear();
    EXPECT_THROW(validate_files({good, bad}, test::constant(1), progress), Error);
    EXPECT_TRUE(done.empty());
}

TEST(Run, ThreadsDoNotChangeTheReport) {
    const test::Folder folder;
    std::vector<json> rows;
    for (int i = 0; i < 24; ++i) rows.push_back(row({{"id", std::to_string(i)}, {"gbs", 64 << (i % 3)}}));
    rows.push_back(row({{"id", "skipped"}, {"tp", "many"}}));
    const auto file = folder.write("lab.json", file_of(rows));
    const auto report = [&](unsigned threads) {
        return to_json(validate_files({file}, simulator(), {}, threads)).dump();
    };
    const std::string alone = report(1);
    EXPECT_EQ(json::parse(alone).at("rows").size(), 25U);
    EXPECT_EQ(report(8), alone);
}

TEST(Run, OrderComparesBatchesPerSequence) {
    const Report report = run({row({}), row({{"gbs", 128}})}, test::constant(4));
    const auto& rows = report.steps.rows;
    EXPECT_EQ(rows[0].group, rows[1].group);
    EXPECT_DOUBLE_EQ(rows[0].rank_measured, 4.0 / 64);
    EXPECT_DOUBLE_EQ(rows[1].rank_prediction, 4.0 / 128);
}

}  // namespace orrery::validate
