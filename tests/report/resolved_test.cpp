// A resolved scenario is a scenario file that says the same.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/catalog.hpp"
#include "report/json.hpp"
#include "scenarios/keys.hpp"
#include "scenarios/scenario.hpp"
#include "tests/scenarios/random_scenario.hpp"
#include "tests/scenarios/shipped.hpp"

namespace orrery::report {
namespace {

using Json = nlohmann::json;

void expect_round_trip(const scenarios::Scenario& scenario) {
    const Json document = Json::parse(resolved(scenario).dump());
    const scenarios::Scenario again = scenarios::from_json(document, "resolved.json");
    EXPECT_EQ(Json::parse(resolved(again).dump()), document);
    EXPECT_EQ(again.plan.model, scenario.plan.model);
    EXPECT_EQ(again.gpus, scenario.gpus);
    EXPECT_EQ(again.perturbations, scenario.perturbations);
    EXPECT_EQ(again.plan.strategy.bucket_bytes, scenario.plan.strategy.bucket_bytes);
    EXPECT_EQ(again.cluster.nic_bytes_per_second, scenario.cluster.nic_bytes_per_second);
}

TEST(Resolved, ShippedScenariosComeBack) {
    for (const auto& file : scenarios::shipped_scenarios()) {
        SCOPED_TRACE(file);
        expect_round_trip(scenarios::load(file));
    }
}

TEST(Resolved, RandomScenariosComeBack) {
    const std::uint64_t seed = 7;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 300; ++i) {
        const Json document = scenarios::random_scenario(random);
        SCOPED_TRACE(document.dump());
        expect_round_trip(scenarios::from_json(document, "random.json"));
    }
}

TEST(Resolved, ModelsOfTheCatalogComeBack) {
    Json document = {{"cluster", {{"preset", "dgx-a100"}, {"nodes", 1}}},
                     {"training", {{"seq_length", 128}, {"global_batch_size", 8}}}};
    for (const models::ModelSpec& model : models::catalog()) {
        SCOPED_TRACE(model.name);
        document["model"] = {{"name", model.name}};
        const scenarios::Scenario scenario = scenarios::from_json(document, "model.json");
        EXPECT_EQ(scenario.plan.model, model);
        expect_round_trip(scenario);
    }
}

TEST(Resolved, WritesEveryKeyThatAScenarioMayHave) {
    std::vector<scenarios::Override> perturbed;
    for (const char* text :
         {"perturbations.stragglers=[\"rank 3 x 1.5 to 1 s\"]", "perturbations.slow_links=[\"leaf 0 x 4\"]",
          "perturbations.jitter=0.1", "strategy.placement=tp-ep-pp-dp", "model.num_experts=16", "strategy.expert=2",
          "strategy.expert_tensor=8", "strategy.sequence_parallel=true", "training.moe_expert_capacity_factor=1.5",
          "perturbations.expert_imbalance=1.25"}) {
        perturbed.push_back(scenarios::parse_override(text));
    }
    const scenarios::Scenario scenario = scenarios::load("scenarios/gpt3-175b-superpod-a100.json", perturbed);
    expect_round_trip(scenario);
    const Json document = Json::parse(resolved(scenario).dump());
    // Comments; what names other keys' values; what overrides a preset, a placement or an imbalance; the only
    // optimizer.
    const std::set<std::string> beside{"$schema",   "description",    "hugging_face", "model_type",
                                       "optimizer", "placement_file", "expert_loads"};
    const std::set<std::string> of_preset{"preset", "nodes"};
    for (const scenarios::Key& key : scenarios::keys()) {
        const std::string name(key.name);
        const std::string pointer(scenarios::pointer(key.place));
        if (pointer.starts_with("/cluster") && !of_preset.contains(name)) continue;
        const Json::json_pointer place(pointer);
        EXPECT_TRUE(beside.contains(name) || document.at(place).contains(name)) << place.to_string() << '/' << name;
    }
}

}  // namespace
}  // namespace orrery::report
