// A bound is never above what is simulated, for any plan of any space.
#include "planning/search/bounds.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "documents/write_fields.hpp"
#include "planning/evaluate.hpp"
#include "planning/search/space.hpp"
#include "strategies/plan_fields.hpp"
#include "tests/planning/small_sites.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::planning {
namespace {

constexpr std::uint64_t first_seed = 4'000;
constexpr std::size_t sites = 24, mixed_sites = 12, plans_of_each = 25;

struct Drawn {
    strategies::Strategy strategy;
    std::uint32_t micro_batch;
};

/// Plans of a space, drawn without knowing how many there are.
std::vector<Drawn> draw(const Site& site, const Space& space, std::mt19937_64& random) {
    std::vector<Drawn> drawn;
    std::uint64_t seen = 0;
    strategies::Plan plan = site.scenario.plan;
    space.each(plan, 0, [&] {
        const std::uint64_t at = drawn.size() < plans_of_each ? drawn.size() : random() % (seen + 1);
        ++seen;
        if (at >= plans_of_each) return;
        if (at == drawn.size()) drawn.emplace_back();
        drawn[at] = {plan.strategy, plan.training.micro_batch};
    });
    return drawn;
}

/// Of four sites two have gradients in several buckets, of one of which halves travel, and one sums in 16 bits; of
/// three one counts zeros, and one has LAMB over all parameters or one by one. Of five one has layers that take longer
/// than what is beside them, and one on a machine whose tokens are many for its wires.
Site site_of(std::uint64_t seed) {
    nlohmann::json document = nlohmann::json::parse(small_document(seed));
    document["strategy"] = {{"data", 1}};
    if (seed % 4 < 2) document["strategy"]["bucket_size"] = "1 MB";  // several buckets
    if (seed % 4 == 1) document["training"]["communication_data_type"] = "bf16";
    if (seed % 4 == 2) document["training"].update({{"grad_reduce_precision", "bf16"}, {"precision", "bf16"}});
    if (seed % 3 == 1) document["training"]["log_num_zeros_in_grad"] = true;
    if (seed % 5 < 2) {
        document["model"].update(
            {{"hidden_size", 4096}, {"num_attention_heads", 32}, {"max_position_embeddings", 2048}});
        document["training"]["seq_length"] = seed % 5 == 0 ? 1024 : 2048;
    }
    if (seed % 5 == 1) document["cluster"] = {{"preset", "dgx-h100"}, {"nodes", 1 + seed % 2}};
    if (seed % 3 == 2) document["training"].update({{"optimizer", "lamb"}, {"fused_optimizer", seed % 2 == 0}});
    return Site(sim::scenario_of(document), 0, sim::profiles());
}

/// Eight layers.
Site gpt_on_h100(std::uint32_t hidden, std::uint32_t global_batch, std::uint32_t nodes = 1) {
    nlohmann::json document = nlohmann::json::parse(small_document(first_seed));
    document["model"] = {{"name", "gpt"},
                         {"num_hidden_layers", 8},
                         {"hidden_size", hidden},
                         {"vocab_size", 51200},
                         {"num_attention_heads", hidden / 128},
                         {"max_position_embeddings", 2048}};
    document["training"] = {{"seq_length", 2048}, {"global_batch_size", global_batch}, {"precision", "bf16"}};
    document["cluster"] = {{"preset", "dgx-h100"}, {"nodes", nodes}};
    document["strategy"] = {{"data", 1}};
    return Site(sim::scenario_of(document), 0, sim::profiles());
}

/// Shares of the simulated steps.
struct Shares {
    double closest = 0, sum = 0;
    std::size_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
};

/// Of plans that are drawn from the site's space.
void expect_below(const Site& site, std::uint64_t seed, Shares& shares) {
    LayerTables tables;
    Bounds bounds(site, tables);
    std::mt19937_64 random(seed);
    for (const Drawn& drawn : draw(site, Space({site.gpus}), random)) {
        const scenarios::Scenario scenario = site.under(drawn.strategy, drawn.micro_batch);
        const auto told = [&] {
            return fmt::format("seed {}: {}", seed,
                               documents::write_fields(strategies::strategy_fields(), drawn.strategy).dump()) +
                   fmt::format(" micro-batch {}", drawn.micro_batch);
        };
        ASSERT_NO_THROW(strategies::validate(scenario.plan)) << told();
        const Outcome outcome = evaluate(scenario, sim::profiles());
        const Bound bound = bounds.of(scenario.plan);
        EXPECT_GT(bound.seconds, 0) << told();
        EXPECT_LE(bound.seconds, outcome.step_s) << told();
        EXPECT_LE(bound.bytes, outcome.memory_needed) << told();
        shares.closest = std::max(shares.closest, bound.seconds / outcome.step_s);
        shares.sum += bound.seconds / outcome.step_s;
        ++shares.count;
    }
}

TEST(Bounds, NeverAboveTheSimulatedStepAndItsMemory) {
    Shares shares;
    for (std::uint64_t seed = first_seed; seed < first_seed + sites; ++seed) expect_below(site_of(seed), seed, shares);
    RecordProperty("mean_share", fmt::format("{}", shares.mean()));
    EXPECT_GT(shares.closest, 0.99) << "of the simulated step";
    EXPECT_GT(shares.mean(), 0.6) << "a bound that says nothing excludes nothing";
}

/// A replica, or some of its stages, on slower GPUs: the others wait for it.
TEST(Bounds, OnSeveralKindsOfGpuStayBelowTheStep) {
    const std::vector<std::vector<std::string>> clusters{{"dgx-a100", "H100"}, {"dgx-h100", "A100-80GB"}};
    Shares shares;
    for (std::uint64_t seed = first_seed; seed < first_seed + mixed_sites; ++seed) {
        nlohmann::json document = nlohmann::json::parse(small_document(seed));
        const std::vector<std::string>& kinds = clusters[seed % clusters.size()];
        document["cluster"] = {{"preset", kinds[0]},
                               {"nodes", 1 + seed / 2 % 2},
                               {"more_nodes", {fmt::format("{} x {}", 1 + seed / 4 % 2, kinds[1])}}};
        document["model"].update(
            {{"hidden_size", 4096}, {"num_attention_heads", 32}, {"max_position_embeddings", 2048}});
        document["training"]["seq_length"] = 2048;
        document["strategy"] = {{"data", 1}};
        expect_below(Site(sim::scenario_of(document), 0, sim::profiles()), seed, shares);
    }
    RecordProperty("mean_share", fmt::format("{}", shares.mean()));
    EXPECT_GT(shares.closest, 0.95) << "of the simulated step";
    EXPECT_GT(shares.mean(), 0.6) << "a bound that says nothing excludes nothing";
}

/// Of a forward and the backward behind it stage 0 waits for one message, and for none where that ends in the
/// embedding.
TEST(Bounds, OfChunksWhoseMessagesAreWaitedForStayBelowTheStep) {
    nlohmann::json document = nlohmann::json::parse(small_document(first_seed));
    document["training"].update({{"global_batch_size", 48}, {"cuda_graph", true}});
    document["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 2}};
    document["strategy"] = {{"data", 1}};
    const Site site(sim::scenario_of(document), 0, sim::profiles());
    LayerTables tables;
    Bounds bounds(site, tables);
    strategies::Strategy strategy;
    strategy.tensor = 8;
    strategy.pipeline = strategy.virtual_pipeline = 2;
    strategy.schedule = strategies::ScheduleKind::interleaved;
    strategy.sequence_parallel = true;
    const scenarios::Scenario scenario = site.under(strategy, 1);
    const double bound = bounds.of(scenario.plan).seconds, step = evaluate(scenario, sim::profiles()).step_s;
    EXPECT_LE(bound, step);
    EXPECT_GT(bound, 0.97 * step);
}

/// Seven data ranks of two stages: the second stage's are on both nodes, and kernels are slowed as by the first's.
TEST(Bounds, OfStagesThatLieOtherwiseStayBelowTheStep) {
    const Site site = gpt_on_h100(4096, 245, 2);
    LayerTables tables;
    Bounds bounds(site, tables);
    strategies::Strategy strategy;
    strategy.pipeline = 2;
    strategy.data = 7;
    strategy.overlap_grad_reduce = true;
    for (const auto sharding : {strategies::Sharding::zero2, strategies::Sharding::zero3}) {
        strategy.sharding = sharding;
        const scenarios::Scenario scenario = site.under(strategy, 1);
        EXPECT_LE(bounds.of(scenario.plan).seconds, evaluate(scenario, sim::profiles()).step_s);
    }
}

/// Copies that take longer than the layers beside them, sums of gradients that layers wait for, and what slows them: a
/// part of what each takes more than without is in the bound.
TEST(Bounds, SayWhatCallsWaitForAndWhatSlowsThem) {
    const Site site = gpt_on_h100(4096, 256);
    LayerTables tables;
    Bounds bounds(site, tables);
    strategies::Strategy open;
    open.data = 8;
    const auto shares = [&](const auto& change) {
        strategies::Strategy changed = open;
        change(changed);
        const auto both = [&](const strategies::Strategy& strategy) {
            const scenarios::Scenario scenario = site.under(strategy, 1);
            return std::pair(bounds.of(scenario.plan).seconds, evaluate(scenario, sim::profiles()).step_s);
        };
        const auto [bound, step] = both(changed);
        const auto [bound_without, without] = both(open);
        EXPECT_LE(bound, step);
        EXPECT_GT(step, 1.02 * without);
        return (bound - bound_without) / (step - without);
    };
    EXPECT_GT(shares([](strategies::Strategy& s) { s.cpu_offloading_num_layers = 4; }), 0.8);
    EXPECT_GT(shares([](strategies::Strategy& s) { s.cpu_offloading_num_layers = 8; }), 0.7);
    EXPECT_GT(shares([](strategies::Strategy& s) { s.sharding = strategies::Sharding::zero2; }), 0.9);
    EXPECT_GT(shares([](strategies::Strategy& s) {
                  s.sharding = strategies::Sharding::zero3;
                  s.overlap_grad_reduce = true;
              }),
              0.3);
}

/// A bound is of parts of a step, whose operations alone would leave a GPU a lower clock than the whole step does.
TEST(Bounds, OfGpusAtTheirPowerLimitStayBelowTheStep) {
    const Site site = gpt_on_h100(8192, 32);
    LayerTables tables;
    Bounds bounds(site, tables);
    std::mt19937_64 random(first_seed);
    for (const Drawn& drawn : draw(site, Space({site.gpus}), random)) {
        const scenarios::Scenario scenario = site.under(drawn.strategy, drawn.micro_batch);
        EXPECT_LE(bounds.of(scenario.plan).seconds, evaluate(scenario, sim::profiles()).step_s)
            << documents::write_fields(strategies::strategy_fields(), drawn.strategy).dump();
    }
}

/// Of weights that are cast, and gathered in a byte, or kept in 16 bits.
TEST(Bounds, OfStepsInFp8StayBelowThem) {
    for (const char* preset : {"dgx-h100", "hgx-b200"})
        for (const bool narrow : {false, true}) {
            nlohmann::json document = nlohmann::json::parse(small_document(first_seed));
            document["training"].update({{"precision", "fp8"}, {"software", "transformer-engine"}});
            document["training"]["fp8_param_gather"] = narrow;
            document["cluster"] = {{"preset", preset}, {"nodes", 1}};
            document["strategy"] = {{"data", 1}};
            const Site site(sim::scenario_of(document), 0, sim::profiles());
            SCOPED_TRACE(fmt::format("{} {}", preset, narrow));
            Shares shares;
            expect_below(site, first_seed, shares);
        }
}

/// Whose gradients come and go with one micro-batch, and are copied into buckets; weights that products cast beside
/// them.
TEST(Bounds, OfPyTorchsStepsStayBelowThem) {
    for (const bool autocast : {false, true}) {
        nlohmann::json document = nlohmann::json::parse(small_document(first_seed));
        document["training"].update({{"precision", "bf16"}, {"software", "pytorch"}, {"autocast", autocast}});
        for (const char* key : {"gradient_accumulation_fusion", "grad_reduce_precision"})
            document["training"].erase(key);
        document["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 1}};
        document["strategy"] = {{"data", 1}};
        const Site site(sim::scenario_of(document), 0, sim::profiles());
        SCOPED_TRACE(autocast);
        Shares shares;
        expect_below(site, first_seed, shares);
    }
}

/// The slowest board of many is slower than that of few (sim/costs): what was worked out for many is no bound of few.
TEST(Bounds, OfFewerRanksDoNotRestOnTimesOfMore) {
    nlohmann::json document = nlohmann::json::parse(small_document(first_seed));
    document["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 2}};
    document["strategy"] = {{"data", 1}};
    const Site site(sim::scenario_of(document), 0, sim::profiles());
    Prices prices(site);
    LayerTables tables;
    const auto forward = [&](std::uint32_t ranks) {
        strategies::Plan plan = site.scenario.plan;
        plan.strategy.data = ranks;
        prices.place(plan);
        const auto table = tables.find(plan, prices);
        return table->forward(table->run(plan, 0, 0)).device;
    };
    const double many = forward(16);
    EXPECT_LT(forward(8), many);
    EXPECT_LT(forward(1), forward(8));
}

/// Six layers, an embedding and a loss are eight: on two, four or eight stages.
TEST(Space, HasStagesThatTheEmbeddingAndTheLossFill) {
    nlohmann::json document = nlohmann::json::parse(small_document(first_seed));
    document["model"]["num_hidden_layers"] = 6;
    document["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 1}};
    document["strategy"] = {{"data", 1}};
    const Site site(sim::scenario_of(document), 0, sim::profiles());
    std::map<bool, std::set<std::uint32_t>> stages;
    strategies::Plan plan = site.scenario.plan;
    Space({site.gpus, 0.5}).each(plan, 0, [&] {
        EXPECT_EQ(plan.strategy.embedding_as_layer, plan.strategy.loss_as_layer);
        EXPECT_NO_THROW(strategies::validate(plan));
        stages[plan.strategy.embedding_as_layer].insert(plan.strategy.pipeline);
    });
    EXPECT_EQ(stages[false], (std::set<std::uint32_t>{1, 2, 3, 6}));
    EXPECT_EQ(stages[true], (std::set<std::uint32_t>{2, 4, 8}));
}

}  // namespace
}  // namespace orrery::planning
