#include "report/json.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/report/golden.hpp"
#include "tests/report/sample.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

/// What the schema finds wrong with a document; empty when it agrees.
std::string schema_complaints(const Json& document) {
    const Json text = Json::parse(std::ifstream("report/prediction.schema.json"));
    valijson::Schema schema;
    valijson::SchemaParser().populateSchema(Adapter(text), schema);
    valijson::ValidationResults results;
    std::string complaints;
    if (valijson::Validator().validate(schema, Adapter(document), &results)) return complaints;
    for (valijson::ValidationResults::Error error; results.popError(error);) {
        for (const std::string& part : error.context) complaints += part;
        complaints += ": " + error.description + '\n';
    }
    return complaints;
}

TEST(JsonReport, IsStable) { expect_golden("prediction.json", json(sample_scenario(), sample_prediction())); }

TEST(JsonReport, AgreesWithItsSchema) {
    for (const std::uint32_t stages : {1U, 2U, 16U})
        EXPECT_EQ(schema_complaints(Json::parse(json(sample_scenario(stages), sample_prediction(stages)))), "");
}

TEST(JsonReport, AgreesWithItsSchemaAboutSharing) {
    sim::Prediction p = sample_prediction();
    p.jobs = {{"own", 8, 0, 1, 1.25}, {"other", 16, 0.5, 2, 2}};
    p.shared_links = {{"leaf 0 to spine 1", 4, 25e9, 1e9, 2e9, 0.75}};
    const Json report = Json::parse(json(sample_scenario(), p));
    EXPECT_EQ(schema_complaints(report), "");
    EXPECT_EQ(report.at("jobs").at(1).at("name"), "other");
    EXPECT_EQ(report.at("shared_links").at(0).at("busy"), 0.75);
    Json wrong = report;
    wrong["jobs"][0]["shared_s"] = 0;
    EXPECT_NE(schema_complaints(wrong), "");
    wrong = report;
    wrong["shared_links"][0].erase("busy");
    EXPECT_NE(schema_complaints(wrong), "");
}

TEST(JsonReport, SchemaKnowsEveryKeyAndMissesNone) {
    const Json report = Json::parse(json(sample_scenario(), sample_prediction()));
    for (const auto& [key, value] : report.items()) {
        Json without = report;
        without.erase(key);
        EXPECT_NE(schema_complaints(without), "") << key << " may be left out";
        Json other = report;
        other[key] = Json::array({Json::array()});
        EXPECT_NE(schema_complaints(other), "") << key << " may be anything";
    }
    Json more = report;
    more["unknown"] = 1;
    EXPECT_NE(schema_complaints(more), "");
}

TEST(JsonReport, BreaksTheStepDownByItsBoundingStage) {
    const Json report = Json::parse(json(sample_scenario(), sample_prediction()));
    EXPECT_EQ(report["bounding_stage"], 1);
    EXPECT_EQ(report["breakdown_s"], report["stages"][1]["breakdown_s"]);
    double sum = 0;
    for (const auto& [key, seconds] : report["breakdown_s"].items()) sum += seconds.get<double>();
    EXPECT_NEAR(sum, report["step_time_s"].get<double>(), 1e-12);
    EXPECT_EQ(report["peak_memory_bytes"], Json::array({61ULL << 30U, 60ULL << 30U}));
}

TEST(JsonReport, SaysNullForWhatWasNotAskedFor) {
    sim::Prediction p = sample_prediction();
    p.scale_base_gpus = 0;
    p.training_time_s = 0;
    const Json report = Json::parse(json(sample_scenario(), p));
    EXPECT_TRUE(report["scale_factor"].is_null());
    EXPECT_TRUE(report["scale_reference"].is_null());
    EXPECT_TRUE(report["training_time_s"].is_null());
    EXPECT_EQ(schema_complaints(report), "");
}

TEST(JsonReport, RefusesNumbersThatAreNotFinite) {
    for (const double wrong : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        sim::Prediction p = sample_prediction();
        p.stages[1].bubble = wrong;
        EXPECT_THROW(json(sample_scenario(), p), std::runtime_error);
    }
}

TEST(JsonReport, KeepsTextThatIsNoUtf8Readable) {
    sim::Prediction p = sample_prediction();
    p.profile = "a\xff\"b";
    EXPECT_EQ(Json::parse(json(sample_scenario(), p))["provenance"]["profile"], "a\xef\xbf\xbd\"b");
}

}  // namespace
}  // namespace orrery::report
