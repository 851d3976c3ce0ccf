// Divisions of layers: as good as the best of all that there are, on small chains; as published, on PipeDream's models.
#include "planning/partition/partition.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "planning/partition/balanced_stages.hpp"
#include "planning/partition/replica_shares.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::planning {
namespace {

Chain random_chain(std::mt19937_64& random, std::uint32_t layers) {
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<ChainLayer> list;
    for (std::uint32_t layer = 0; layer < layers; ++layer)
        list.push_back({fmt::format("layer {}", layer), 0.1 + uniform(random), 3 * uniform(random) * uniform(random),
                        uniform(random)});
    return Chain(std::move(list));
}

/// Calls `found` with every way to put layers [first, end) on `units` units, as counts of layers and units.
using Stages = std::vector<std::array<std::uint32_t, 3>>;  // first, end, units
void each_pipeline(std::uint32_t first, std::uint32_t end, std::uint32_t units, Stages& stages,
                   const std::function<void(const Stages&)>& found) {
    for (std::uint32_t cut = first + 1; cut <= end; ++cut)
        for (std::uint32_t m = 1; m <= units; ++m) {
            if ((cut == end) != (m == units)) continue;
            stages.push_back({first, cut, m});
            cut == end ? found(stages) : each_pipeline(cut, end, units - m, stages, found);
            stages.pop_back();
        }
}

/// By definition: the least over all pipelines of what takes longest in each.
double exhaustive(const Chain& chain, std::span<const WorkerLevel> levels, std::uint32_t first, std::uint32_t end) {
    if (levels.empty()) return chain.seconds(first, end);
    const WorkerLevel& level = levels.back();
    const auto inner = levels.first(levels.size() - 1);
    double best = std::numeric_limits<double>::infinity();
    Stages stages;
    each_pipeline(first, end, level.units, stages, [&](const Stages& all) {
        double longest = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto [begin, stop, m] = all[i];
            const double sums = 2.0 * (m - 1) / m * chain.gradients(begin, stop) / level.bytes_per_second;
            longest = std::max(longest, std::max(exhaustive(chain, inner, begin, stop), sums) / m);
            if (i == 0) continue;
            const double sent = chain[begin - 1].sent / level.bytes_per_second;
            longest = std::max({longest, sent / m, sent / all[i - 1][2]});
        }
        best = std::min(best, longest);
    });
    return best;
}

TEST(ReplicatedStages, AreTheBestOfAllPartitions) {
    std::size_t replicated = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        const Chain chain = random_chain(random, 2 + random() % 4);
        std::vector<WorkerLevel> levels{{static_cast<std::uint32_t>(1 + random() % 4), 2}};
        if (seed % 2 == 0) levels.push_back({static_cast<std::uint32_t>(2 + random() % 2), 0.5});
        const ReplicatedStages found = replicated_stages(chain, levels);
        const double best = exhaustive(chain, levels, 0, chain.size());
        ASSERT_NEAR(found.seconds, best, 1e-12 * best) << "seed " << seed;
        std::uint32_t workers = 0, next = 0, all = 1;
        for (const WorkerLevel& level : levels) all *= level.units;
        for (const ReplicatedStage& stage : found.stages) {
            ASSERT_EQ(stage.first, next) << "seed " << seed;
            ASSERT_LE(stage.seconds, found.seconds * (1 + 1e-12)) << "seed " << seed;
            next = stage.end;
            workers += stage.workers;
        }
        ASSERT_EQ(next, chain.size()) << "seed " << seed;
        ASSERT_EQ(workers, all) << "seed " << seed;
        replicated += found.stages.size() > 1 && found.stages.size() < all ? 1 : 0;
    }
    EXPECT_GT(replicated, 40) << "the seeds should meet more than pipelines and data parallelism alone";
}

TEST(ReplicatedStages, OneStageOnAllWorkersIsDataParallelism) {
    const Chain chain({{"a", 1, 0.01, 10}, {"b", 1, 0.01, 10}});
    const std::vector<WorkerLevel> levels{{4, 1}, {2, 1}};
    const ReplicatedStages found = replicated_stages(chain, levels);
    ASSERT_EQ(found.stages.size(), 1U);
    EXPECT_EQ(found.stages.front(), (ReplicatedStage{0, 2, 8, 0.25}));
    EXPECT_EQ(data_parallel_seconds(chain, levels), 0.25);
}

TEST(ReplicatedStages, RefusesLevelsBeyondItsReach) {
    const Chain chain({{"a", 1, 0, 0}});
    EXPECT_THROW((void)replicated_stages(chain, std::vector<WorkerLevel>{{257, 1}}), Error);
}

/// What is looked for in a scenario of eight layers.
struct Small {
    explicit Small(const std::string& patch)
        : scenario(sim::small_scenario(patch)), site(scenario, 0, sim::profiles()), prices(site) {
        prices.place(plan());
        table.emplace(plan(), prices);
    }
    [[nodiscard]] const strategies::Plan& plan() const { return site.scenario.plan; }
    scenarios::Scenario scenario;
    Site site;
    Prices prices;
    std::optional<StageTables> table;
};

double slowest(const Small& small, std::vector<std::uint32_t> layers) {
    strategies::Plan plan = small.plan();
    plan.strategy.pipeline_layers = pipeline_layers({std::move(layers), {}, {}});
    return std::ranges::max(stage_seconds(plan, *small.table));
}

TEST(BalancedStages, AreTheBestOfAllDivisions) {
    // A vocabulary whose logits take as long as some layers.
    const Small small(R"({"strategy": {"pipeline": 4, "data": 2}, "model": {"vocab_size": 500000}})");
    const std::vector<std::uint32_t> found = balanced_layers(small.plan(), *small.table);
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t a = 0; a <= 8; ++a)
        for (std::uint32_t b = 1; a + b <= 8; ++b)
            for (std::uint32_t c = 1; a + b + c <= 8; ++c)
                best = std::min(best, slowest(small, {a, b, c, 8 - a - b - c}));
    EXPECT_EQ(slowest(small, found), best);
    EXPECT_LT(best, 0.95 * slowest(small, {2, 2, 2, 2}));
}

TEST(BalancedStages, OfSeveralChunksTakeNoLongerThanEqualOnes) {
    const Small small(
        R"({"strategy": {"pipeline": 2, "schedule": "interleaved", "virtual_pipeline": 2},
            "model": {"vocab_size": 500000}})");
    const std::vector<std::uint32_t> found = balanced_layers(small.plan(), *small.table);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_LT(slowest(small, found), slowest(small, {2, 2, 2, 2}));
}

TEST(BalancedStages, RefuseWhatTheyCannotDivide) {
    for (const char* const patch :
         {R"({"strategy": {"pipeline": 1, "data": 8}})", R"({"strategy": {"schedule": "zb-v", "virtual_pipeline": 2}})",
          R"({"strategy": {"recompute": "full", "recompute_num_layers": 1}})"}) {
        const Small small(patch);
        EXPECT_THROW((void)balanced_layers(small.plan(), *small.table), Error) << patch;
    }
}

/// A node of A100, then one of H100, each a stage.
constexpr const char* on_two_kinds = R"({"cluster": {"preset": "dgx-a100", "gpu": "A100-80GB", "nodes": 1,
    "more_nodes": ["1 x H100"]}, "model": {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 16},
    "strategy": {"tensor": 1, "pipeline": 2, "data": 8}, "training": {"seq_length": 2048, "global_batch_size": 256}})";

TEST(BalancedStages, OfSeveralKindsOfGpuAreDividedByTheirRates) {
    const Small small(on_two_kinds);
    const std::vector<std::uint32_t> found = balanced_layers(small.plan(), *small.table);
    double best = std::numeric_limits<double>::infinity();
    for (std::uint32_t first = 0; first <= 16; ++first) best = std::min(best, slowest(small, {first, 16 - first}));
    EXPECT_EQ(slowest(small, found), best);
    EXPECT_LT(found[0], found[1]) << "the A100's stage has fewer";
    EXPECT_LT(best, 0.85 * slowest(small, {8, 8}));
}

TEST(BalancedStages, OfSeveralChunksOnSeveralKindsToo) {
    const Small small(nlohmann::json::parse(on_two_kinds)
                          .patch(nlohmann::json::parse(R"([
        {"op": "add", "path": "/strategy/schedule", "value": "interleaved"},
        {"op": "add", "path": "/strategy/virtual_pipeline", "value": 2}])"))
                          .dump());
    const std::vector<std::uint32_t> found = balanced_layers(small.plan(), *small.table);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_LT(found[0] + found[2], found[1] + found[3]);
    EXPECT_LT(slowest(small, found), 0.85 * slowest(small, {4, 4, 4, 4}));
}

/// Stages that are on both kinds alike go at the pace of the slower one, and are as even as on it alone.
TEST(BalancedStages, EachOnBothKindsAreDividedAsOnTheSlower) {
    nlohmann::json mixed = nlohmann::json::parse(on_two_kinds), alone = mixed;
    mixed["strategy"]["placement"] = "tp-pp-dp";
    alone["cluster"]["more_nodes"] = {"1 x A100-80GB"};
    const Small both(mixed.dump()), slower(alone.dump());
    const auto layers = balanced_layers(slower.plan(), *slower.table);
    EXPECT_EQ(balanced_layers(both.plan(), *both.table), layers);
    EXPECT_EQ(slowest(both, layers), slowest(slower, layers));
}

/// The slowest of all data ranks under shares.
double slowest(const std::vector<ReplicaPace>& paces, const std::vector<std::uint32_t>& shares) {
    double seconds = 0;
    for (std::size_t data = 0; data < paces.size(); ++data)
        seconds = std::max(seconds, paces[data].seconds(shares[data]));
    return seconds;
}

TEST(ReplicaShares, AreTheBestOfAllShares) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        std::mt19937_64 random(seed);
        std::uniform_real_distribution<double> uniform(0.1, 1);
        std::vector<ReplicaPace> paces;
        for (int data = 0; data < 3; ++data) paces.push_back({uniform(random), 2 * uniform(random)});
        strategies::Plan plan;
        plan.strategy.data = 3;
        plan.training.global_batch = static_cast<std::uint32_t>(3 + random() % 12);
        const std::vector<std::uint32_t> found = balanced_shares(plan, paces);
        double best = std::numeric_limits<double>::infinity();
        const std::uint32_t all = plan.training.global_batch;
        for (std::uint32_t a = 1; a + 2 <= all; ++a)
            for (std::uint32_t b = 1; a + b + 1 <= all; ++b) best = std::min(best, slowest(paces, {a, b, all - a - b}));
        ASSERT_EQ(found[0] + found[1] + found[2], all) << "seed " << seed;
        ASSERT_GE(*std::ranges::min_element(found), 1U) << "seed " << seed;
        ASSERT_EQ(slowest(paces, found), best) << "seed " << seed;
    }
}

TEST(ReplicaShares, AreWhatTheScheduleDemands) {
    strategies::Plan plan;
    plan.strategy.data = 2;
    plan.strategy.pipeline = 4;
    plan.strategy.schedule = strategies::ScheduleKind::interleaved;
    plan.strategy.virtual_pipeline = 2;
    plan.training.global_batch = 32;
    EXPECT_EQ(balanced_shares(plan, {{1, 1}, {3, 1}}), (std::vector<std::uint32_t>{24, 8}));
    EXPECT_EQ(balanced_shares(plan, {{1, 0}, {100, 0}}), (std::vector<std::uint32_t>{28, 4}));
}

/// Half of the data ranks on A100, half on H100.
constexpr const char* beside_each_other = R"({"cluster": {"preset": "dgx-a100", "gpu": "A100-80GB", "nodes": 1,
    "more_nodes": ["1 x H100"]}, "model": {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4},
    "strategy": {"tensor": 2, "pipeline": 1, "data": 8}, "training": {"seq_length": 2048, "global_batch_size": 64}})";

TEST(ReplicaShares, OfSeveralKindsOfGpuAreQuickerThanEqualOnes) {
    const Partition found = partition(sim::small_scenario(beside_each_other), sim::profiles());
    EXPECT_FALSE(found.balanced);
    ASSERT_TRUE(found.balanced_shares) << found.not_shared;
    const Shares &planned = *found.planned_shares, &balanced = *found.balanced_shares;
    EXPECT_EQ(replica_micro_batches(planned), "8x8");
    EXPECT_LT(balanced.micro_batches.front(), balanced.micro_batches.back());
    EXPECT_LT(balanced.outcome.step_s, 0.8 * planned.outcome.step_s);
    EXPECT_EQ(found.gpus.front(), "A100-SXM4-80GB");
    EXPECT_EQ(found.gpus.back(), "H100-SXM5-80GB");
    scenarios::Scenario scenario = sim::small_scenario(beside_each_other);
    scenario.plan.strategy.replica_micro_batches = replica_micro_batches(balanced);
    EXPECT_EQ(sim::quick(scenario).step_time_s, balanced.outcome.step_s);
    // Neither fewer nor more for the faster GPUs is quicker.
    for (const int more : {-1, 1}) {
        const auto slow = static_cast<int>(balanced.micro_batches.front()), fast = 16 - slow;
        scenario.plan.strategy.replica_micro_batches = fmt::format("4x{},4x{}", slow - more, fast + more);
        EXPECT_GE(sim::quick(scenario).step_time_s, balanced.outcome.step_s * (1 - 1e-9)) << more;
    }
}

TEST(ReplicaShares, AreLeftOutWhereNothingOrTooMuchIsShared) {
    const Partition alike = partition(sim::small_scenario(), sim::profiles());
    EXPECT_FALSE(alike.balanced_shares);
    EXPECT_EQ(alike.not_shared, "");
    // Each data rank has a stage on both kinds: equal shares are as good.
    const Partition stages = partition(sim::small_scenario(on_two_kinds), sim::profiles());
    ASSERT_TRUE(stages.balanced_shares);
    EXPECT_EQ(replica_micro_batches(*stages.balanced_shares), replica_micro_batches(*stages.planned_shares));
    nlohmann::json sharded = nlohmann::json::parse(beside_each_other);
    sharded["strategy"]["pipeline"] = 2;
    sharded["strategy"]["data"] = 4;
    sharded["strategy"]["sharding"] = "zero2";
    sharded["strategy"]["placement"] = "tp-pp-dp";
    const Partition meets = partition(sim::small_scenario(sharded.dump()), sim::profiles());
    EXPECT_TRUE(meets.balanced);
    EXPECT_FALSE(meets.balanced_shares);
    EXPECT_FALSE(meets.planned_shares);
    EXPECT_NE(meets.not_shared.find("zero2"), std::string::npos) << meets.not_shared;
}

TEST(Partition, OnSeveralKindsIsQuickerThanEqualLayersAndLeavesPipeDreamOut) {
    const Partition found = partition(sim::small_scenario(on_two_kinds), sim::profiles());
    ASSERT_TRUE(found.balanced);
    EXPECT_LT(found.balanced->outcome.step_s, found.planned->outcome.step_s);
    EXPECT_FALSE(found.replicated);
    EXPECT_NE(found.not_replicated.find("several kinds"), std::string::npos) << found.not_replicated;
}

TEST(Partition, TheBalancedPlanIsSimulatedBesideThePlannedOne) {
    const scenarios::Scenario scenario =
        sim::small_scenario(R"({"strategy": {"pipeline": 4, "data": 2}, "model": {"vocab_size": 500000}})");
    const Partition found = partition(scenario, sim::profiles());
    ASSERT_TRUE(found.balanced);
    EXPECT_LT(found.balanced->slowest(), found.planned->slowest());
    EXPECT_LT(found.balanced->outcome.step_s, found.planned->outcome.step_s);
    ASSERT_TRUE(found.replicated);
    EXPECT_LE(found.replicated->best.seconds, found.replicated->data_parallel);
}

}  // namespace
}  // namespace orrery::planning
