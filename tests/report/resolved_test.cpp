// A resolved scenario is a scenario file that says the same.
#include <gtest/gtest.h>

#include <algorithm>
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
        document["training"]["seq_length"] = model.takes_images() ? model.image.tokens() : 128;
        document["training"].erase("decoder_seq");
        if (model.two_stacks()) document["training"]["decoder_seq"] = 32;
        const scenarios::Scenario scenario = scenarios::from_json(document, "model.json");
        EXPECT_EQ(scenario.plan.model, model);
        expect_round_trip(scenario);
    }
}

/// A model that an override made dense stays dense.
TEST(Resolved, AModelWithoutItsExpertsComesBack) {
    const scenarios::Scenario scenario = scenarios::load(
        "scenarios/mixtral-8x7b-superpod-h100.json",
        {scenarios::parse_override("model.num_experts=0"), scenarios::parse_override("strategy.expert=1")});
    EXPECT_EQ(scenario.plan.model.experts, 0U);
    expect_round_trip(scenario);
}

/// A scenario with changes as it is written out, which reads as the same scenario.
Json written(const char* file, const std::vector<const char*>& changes) {
    std::vector<scenarios::Override> overrides;
    for (const char* text : changes) overrides.push_back(scenarios::parse_override(text));
    const scenarios::Scenario scenario = scenarios::load(file, overrides);
    expect_round_trip(scenario);
    return Json::parse(resolved(scenario).dump());
}

/// Of two that state failures in either way: both at once are refused.
Json every_key_of_a_whole_training() {
    constexpr const char* file = "scenarios/gpt3-175b-superpod-a100.json";
    Json document = written(file, {"reliability.failures_per_1000_node_days=3",
                                   "reliability.broken_share=0.5",
                                   "reliability.detection=1 min",
                                   "reliability.restart=2 min",
                                   "reliability.spare_nodes=2",
                                   "reliability.repair=2 days",
                                   "reliability.without_spare=shrink",
                                   "checkpoint.saved=masters",
                                   "checkpoint.savers=one_replica",
                                   "checkpoint.tier=nvme",
                                   "checkpoint.asynchronous=true",
                                   "checkpoint.interval=1 h",
                                   "checkpoint.optimum=young",
                                   "checkpoint.shared_every=3",
                                   "storage.read_rate=90 GB/s",
                                   "storage.write_rate=80 GB/s",
                                   "storage.node_read_rate=9 GB/s",
                                   "storage.node_write_rate=8 GB/s",
                                   "storage.nvme_read_rate=7 GB/s",
                                   "storage.nvme_write_rate=6 GB/s",
                                   "storage.tokens_per_second_per_node=1e6"});
    const Json other = written(file, {"reliability.node_mtbf=400 days"});
    document["reliability"].update(other.at("reliability"));
    return document;
}

TEST(Resolved, WritesEveryKeyThatAScenarioMayHave) {
    constexpr const char* experts = "scenarios/mixtral-8x7b-superpod-h100.json";
    const std::vector<Json> written_out{
        written("scenarios/gpt3-175b-superpod-a100.json",
                {"perturbations.stragglers=[\"rank 3 x 1.5 to 1 s\"]", "perturbations.slow_links=[\"leaf 0 x 4\"]",
                 "perturbations.jitter=0.1", "strategy.placement=tp-pp-dp", "strategy.data=4",
                 "perturbations.background=[\"node 0 to node 1 at 1 GB/s\"]",
                 "other_jobs=[{\"scenario\": \"gpt-tiny-cpu.json\", \"set\": [\"strategy.data=1\"], "
                 "\"first_gpu\": 1000, \"starts_at\": \"1 s\"}]"}),
        written(experts, {"perturbations.expert_imbalance=1.3", "strategy.expert_tensor=1",
                          "training.moe_expert_capacity_factor=1.25"}),
        written(experts, {"perturbations.expert_loads=[\"expert rank 3 x 1.5\"]"}),
        written(experts, {"perturbations.expert_zipf=1.2"}),
        written("scenarios/lectures/slow-worker.json",
                {"synchrony={\"mode\": \"ssp\", \"staleness\": 2, \"exchange\": \"parameter_server\", "
                 "\"servers\": 4, \"server_nodes\": \"workers\", \"step_jitter\": 0.1, \"steps\": 10}"}),
        written("scenarios/lectures/slow-worker.json", {"synchrony={\"mode\": \"diloco\", \"local_steps\": 5}"}),
        written("scenarios/resnet-50-dgx-a100.json", {}),
        written("scenarios/vit-h14-dgx-a100.json", {}),
        written("scenarios/clip-vit-l14-superpod-a100.json", {}),
        written("scenarios/transformer-xl-base-dgx-a100.json", {}),
        written("scenarios/t5-11b-dgx-h100.json", {"model={\"name\": \"t5-3b\"}"}),
        written("scenarios/nemotron-h-56b-superpod-h100.json",
                {"model={\"name\": \"nemotron-3-super\", \"num_nextn_predict_layers\": 2, "
                 "\"mtp_hybrid_override_pattern\": \"*E\"}",
                 "strategy.tensor=2", "strategy.recompute=selective", "strategy.recompute_modules=moe_act,layernorm"}),
        written("scenarios/gpt-tiny-cpu.json", {"strategy.pipeline=2", "strategy.pipeline_layers=1,3"}),
        written("scenarios/gpt-tiny-cpu.json",
                {"strategy.recompute=full", "strategy.checkpoint_policy=save_only_these_names",
                 "strategy.checkpoint_names=out_proj", "training.software=jax",
                 "strategy.cpu_offloading_num_layers=1", "strategy.offload_names=out_proj"}),
        written("scenarios/gpt-tiny-cpu.json",
                {"strategy.data=2", "training.global_batch_size=16", "strategy.replica_micro_batches=1,3"}),
        every_key_of_a_whole_training()};
    // Comments; what names other keys' values; what overrides a preset or a placement; the only optimizer; what other
    // keys stand for.
    const std::set<std::string> beside{"$schema",   "description",    "hugging_face", "model_type",
                                       "optimizer", "placement_file", "scopes"};
    const std::set<std::string> of_preset{"preset", "nodes"};
    for (const documents::Section& section : scenarios::sections())
        for (const documents::Key& key : section.keys) {
            const std::string name(key.name);
            if (beside.contains(name) || section.name == "scopes" ||
                (section.name == "cluster" && !of_preset.contains(name)))
                continue;
            const Json::json_pointer place(std::string(section.pointer) + (section.in_list ? "/0" : ""));
            EXPECT_TRUE(std::ranges::any_of(
                written_out,
                [&](const Json& document) { return document.contains(place) && document.at(place).contains(name); }))
                << place.to_string() << '/' << name;
        }
}

}  // namespace
}  // namespace orrery::report
