// Whatever a row holds, validation ends with a prediction or a reason.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/validate/sample.hpp"
#include "validate/carry.hpp"
#include "validate/output.hpp"
#include "validate/rows.hpp"

namespace orrery::validate {

using nlohmann::json;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

json odd_value(Random& random) {
    const json values[] = {nullptr,
                           true,
                           false,
                           0,
                           -1,
                           1,
                           3,
                           1e300,
                           -1e-300,
                           4294967296.0,
                           2147483647,
                           0.5,
                           "",
                           "none",
                           "A100",
                           "H100",
                           "16x",
                           "8x 2x100G",
                           "99999999999999999999x 9G",
                           json::array(),
                           json::object(),
                           json::array({1, "two", nullptr}),
                           json{{"a", {{"b", 1}}}},
                           std::string(5000, 'x'),
                           "full block 999",
                           "ZeRO-3",
                           "GPipe",
                           "100%",
                           "\xC3\xA9\xE2\x82\xAC"};
    return values[below(random, std::size(values))];
}

/// Replaces or removes a random member at a random depth.
void mutate(json& value, Random& random) {
    if (!value.is_structured() || value.empty()) {
        value = odd_value(random);
        return;
    }
    auto member = value.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(below(random, value.size())));
    switch (below(random, 4)) {
        case 0: value.erase(member); break;
        case 1: *member = odd_value(random); break;
        default: mutate(*member, random); break;
    }
}

/// One row in fifty of every carried file.
std::vector<json> seeds() {
    std::vector<json> rows;
    for (const auto& file : carried_files()) {
        const RowFile loaded = load_rows(file);
        for (std::size_t i = 0; i < loaded.rows.size(); i += 50) rows.push_back(loaded.rows[i].fields());
    }
    return rows;
}

json mutated_file(const std::vector<json>& samples, std::size_t rows, Random& random) {
    json list = json::array();
    for (std::size_t i = 0; i < rows; ++i) {
        json row = samples[below(random, samples.size())];
        for (std::size_t changes = 1 + below(random, 3); changes > 0 && row.is_object(); --changes) mutate(row, random);
        list.push_back(row.is_object() ? row : json::object());
    }
    return {{"source", "fuzz"}, {"rows", list}};
}

/// Builds the cluster and checks the plan as the simulator does, so that mapped values are exercised.
Predictor strict() {
    Predictor predictor = test::constant(1);
    predictor.step = [step = predictor.step](const scenarios::Scenario& scenario) {
        strategies::validate(scenario.plan);
        return step(scenario);
    };
    return predictor;
}

}  // namespace

TEST(Fuzz, MutatedRowsEndAsPredictedOrSkipped) {
    const std::vector<json> samples = seeds();
    ASSERT_GT(samples.size(), 60U);
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const test::Folder folder;
        const auto file = folder.write("fuzz.json", mutated_file(samples, 100, random).dump());
        const Report report = validate_files({file}, strict());
        for (const Table* table :
             {&report.steps, &report.memory, &report.collectives, &report.trainings, &report.ratios}) {
            for (const Result& row : table->rows) {
                EXPECT_NE(row.predicted, !row.reason.empty()) << row.id;
                EXPECT_NE(row.reason, "prediction failed") << row.id;
                EXPECT_TRUE(!row.predicted || (std::isfinite(row.error) && row.measured > 0)) << row.id;
            }
        }
        EXPECT_GE(report.steps.rows.size() + report.memory.rows.size() + report.collectives.rows.size() +
                      report.trainings.rows.size() + report.ratios.rows.size(),
                  100U);
        EXPECT_FALSE(to_json(report).dump().empty());
        EXPECT_FALSE(to_text(report).empty());
    }
}

TEST(Fuzz, MutatedRowsCanBeCarried) {
    const std::vector<json> samples = seeds();
    for (std::uint64_t seed = 100; seed < 110; ++seed) {
        SCOPED_TRACE(seed);
        Random random(seed);
        const json full = mutated_file(samples, 50, random);
        const std::string once = carried(parse_rows(full.dump(), "fuzz.json"));
        EXPECT_EQ(carried(parse_rows(once, "fuzz.json")), once);
    }
}

}  // namespace orrery::validate
