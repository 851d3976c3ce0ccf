// Laws of clusters of several kinds of GPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "sim/agreement.hpp"
#include "sim/oracle.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using Json = nlohmann::json;

template <class T, std::size_t count>
T any(std::mt19937_64& random, const std::array<T, count>& choices) {
    return choices[random() % count];
}

/// Two or three stretches of nodes of A100 and H100 under a plan that fills them, or leaves some of them idle.
Json random_mixture(std::mt19937_64& random) {
    const std::array<const char*, 4> more{"1 x H100", "2 x H100", "1 x A100-40GB", "2 x H200"};
    Json cluster = {{"preset", "dgx-a100"}, {"nodes", 1 + random() % 3}, {"gpu", "A100-80GB"}};
    for (std::size_t i = 0; i < 1 + random() % 2; ++i) cluster["more_nodes"].push_back(any(random, more));
    if (random() % 3 == 0) cluster["nics_per_node"] = 2;
    const unsigned tensor = any(random, std::array{1U, 2U, 4U, 8U}), pipeline = any(random, std::array{1U, 2U, 4U});
    Json strategy = {{"tensor", tensor}, {"pipeline", pipeline}, {"data", 16 / std::min(16U, tensor * pipeline)}};
    if (tensor * pipeline == 32) strategy["pipeline"] = 2;
    strategy["sharding"] = random() % 2 == 0 ? "zero1" : "none";
    strategy["overlap_grad_reduce"] = random() % 2 == 0;
    strategy["placement"] = any(random, std::array{"linear", "round_robin", "average", "tp-pp-dp", "dp-tp-pp"});
    if (const unsigned data = strategy["data"]; data > 1 && random() % 2 == 0) {
        const unsigned share = 32 / data;
        const auto moved = static_cast<unsigned>(random() % share);  // from the first rank to the last
        strategy["replica_micro_batches"] = fmt::format(
            "{},{}{}", share - moved, data > 2 ? fmt::format("{}x{},", data - 2, share) : "", share + moved);
    }
    return {{"cluster", cluster}, {"strategy", strategy}, {"training", {{"global_batch_size", 32}}}};
}

struct Ran {
    explicit Ran(const scenarios::Scenario& scenario, bool fold = true)
        : cluster(topology::build(scenario.cluster)),
          step(scenario.plan, cluster, profiles_of(scenario, cluster, profiles()), {.fold = fold}) {}
    topology::Cluster cluster;
    RanStep step;
};

double seconds(const Json& patch) { return Ran(small_scenario(patch.dump())).step.replayed.end; }

class Mixed : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Mixed, FoldedEqualsUnfolded) {
    std::mt19937_64 random(GetParam());
    const Json patch = random_mixture(random);
    SCOPED_TRACE(fmt::format("seed {}: {}", GetParam(), patch.dump()));
    const Agreement agreement = check_folding(small_scenario(patch.dump()), profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

TEST_P(Mixed, ReplayIsTheLongestPathWithoutContention) {
    std::mt19937_64 random(GetParam() + 1000);
    const Json patch = random_mixture(random);
    SCOPED_TRACE(fmt::format("seed {}: {}", GetParam(), patch.dump()));
    const scenarios::Scenario scenario = small_scenario(patch.dump());
    const Ran ran(scenario, false);
    const auto oracle = longest_path(ran.step.program, ran.step.costs, ran.step.network, scenario.plan.placement);
    const auto engine = make_uncontended_engine(ran.step.folding->capacities);
    const Replayed alone = replay(ran.step.program, ran.step.costs, ran.step.network, *ran.step.folding, *engine);
    for (std::uint32_t rank = 0; rank < oracle.size(); ++rank)
        for (std::size_t i = 0; i < oracle[rank].size(); ++i)
            ASSERT_NEAR(alone.classes[rank].spans[i].end, oracle[rank][i].end, 1e-9 * alone.end) << rank << " op " << i;
}

/// With a straggler among the fast ranks as well.
TEST_P(Mixed, PerturbedStepsFoldToo) {
    std::mt19937_64 random(GetParam() + 2000);
    Json patch = random_mixture(random);
    patch["perturbations"]["stragglers"] = {fmt::format("rank {} x 1.7", random() % 8)};
    SCOPED_TRACE(fmt::format("seed {}: {}", GetParam(), patch.dump()));
    const Agreement agreement = check_folding(small_scenario(patch.dump()), profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

INSTANTIATE_TEST_SUITE_P(Property, Mixed, testing::Range<std::uint64_t>(1, 13));

constexpr const char* plans[] = {
    R"({"strategy": {"tensor": 2, "pipeline": 2, "data": 8}})",
    R"({"strategy": {"tensor": 8, "pipeline": 1, "data": 4, "sharding": "zero1"}})",
    R"({"strategy": {"tensor": 4, "pipeline": 4, "data": 2, "overlap_grad_reduce": true}})",
    R"({"strategy": {"tensor": 2, "pipeline": 4, "data": 4, "placement": "tp-pp-dp"}})",
};

TEST(MixedCluster, OneKindInTwoGroupsIsAUniformCluster) {
    for (const char* plan : plans) {
        Json one = Json::parse(plan), two = one;
        one["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 4}};
        two["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 1}, {"more_nodes", {"1 x A100-80GB", "2 x A100-80GB"}}};
        const Ran whole(small_scenario(one.dump())), parts(small_scenario(two.dump()));
        EXPECT_EQ(parts.step.replayed.classes.size(), whole.step.replayed.classes.size()) << plan;
        EXPECT_NEAR(parts.step.replayed.end, whole.step.replayed.end, 1e-12 * whole.step.replayed.end) << plan;
    }
}

/// Kernels long enough that network constants of a newer generation do not matter.
TEST(MixedCluster, AFasterKindNeverSlowsTheStep) {
    const Json heavy = {{"model", {{"hidden_size", 4096}, {"num_attention_heads", 32}}},
                        {"training", {{"seq_length", 2048}, {"cuda_graph", true}}}};
    for (const char* plan : plans) {
        double before = std::numeric_limits<double>::infinity();
        for (const unsigned fast : {0U, 1U, 2U, 3U}) {
            Json patch = Json::parse(plan);
            patch.merge_patch(heavy);
            patch["cluster"] = {{"preset", "dgx-a100"}, {"nodes", 4 - fast}};
            if (fast > 0) patch["cluster"]["more_nodes"] = {fmt::format("{} x H100", fast)};
            const double now = seconds(patch);
            EXPECT_LE(now, before * 1.0001) << plan << " with " << fast << " nodes of H100";
            before = now;
        }
    }
}

/// Data parallelism waits for the slowest: one slow node costs what all slow nodes cost.
TEST(MixedCluster, SynchronousDataParallelismRunsAtTheSlowestPace) {
    const auto with = [](const char* preset, unsigned nodes, const char* more) {
        Json patch = {{"model", {{"hidden_size", 4096}, {"num_attention_heads", 32}}},
                      {"cluster", {{"preset", preset}, {"nodes", nodes}}},
                      {"strategy", {{"tensor", 8}, {"pipeline", 1}, {"data", 4}}},
                      {"training", {{"seq_length", 2048}, {"cuda_graph", true}}}};
        if (more != nullptr) patch["cluster"]["more_nodes"] = {more};
        return seconds(patch);
    };
    const double slow = with("dgx-a100", 4, nullptr), mixed = with("dgx-a100", 1, "3 x H100");
    const double fast = with("dgx-h100", 4, nullptr);
    EXPECT_NEAR(mixed, slow, 0.02 * slow);
    EXPECT_LT(fast, 0.7 * slow);
}

}  // namespace
}  // namespace orrery::sim
