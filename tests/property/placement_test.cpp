// Laws of placed steps: folding stays exact, and only where ranks lie beside each other matters.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "sim/agreement.hpp"
#include "sim/columns.hpp"
#include "sim/oracle.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using strategies::RankPlacement;

double step_seconds(const scenarios::Scenario& scenario, bool fold = true) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    return RanStep(scenario.plan, cluster, profiles().find(scenario.profile), {.fold = fold}).replayed.end;
}

/// Any `ranks` of the GPUs, in any order.
RankPlacement shuffled(std::uint32_t ranks, std::uint32_t gpus, std::mt19937_64& random) {
    std::vector<std::uint32_t> all(gpus);
    std::iota(all.begin(), all.end(), 0U);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
    all.resize(ranks);
    return RankPlacement(std::move(all));
}

struct Case {
    const char* name;
    const char* placement;
    const char* more = "{}";
    std::size_t columns = 1;  ///< ranks side by side that are folded by construction
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

constexpr const char* rails =
    R"({"cluster": {"preset": "dgx-a100", "nodes": 8}, "strategy": {"tensor": 4, "pipeline": 4, "data": 4}})";
constexpr const char* full_nodes =
    R"({"cluster": {"preset": "dgx-a100", "nodes": 8}, "strategy": {"tensor": 8, "pipeline": 2, "data": 4,
        "sharding": "zero1"}})";
constexpr const char* oversubscribed =
    R"({"cluster": {"preset": "ethernet", "nodes": 64, "gpu": "A100-80GB", "gpus_per_node": 2, "nics_per_node": 1,
        "switch_ports": 20, "oversubscription": 4}, "strategy": {"tensor": 2, "pipeline": 2, "data": 32}})";
constexpr const char* superpod =
    R"({"cluster": {"nodes": 24}, "strategy": {"tensor": 8, "pipeline": 4, "data": 6}, "training":
        {"global_batch_size": 48}})";
constexpr const char* idle =
    R"({"cluster": {"preset": "dgx-a100", "nodes": 8}, "strategy": {"tensor": 4, "pipeline": 2, "data": 4}})";
constexpr const char* dragonfly =
    R"({"cluster": {"preset": "dgx-a100", "nodes": 8, "fabric": "dragonfly"},
        "strategy": {"tensor": 4, "pipeline": 4, "data": 4}})";

const Case cases[] = {
    {"RailsTpPpDp", "tp-pp-dp", rails, 4},
    {"RailsDpTpPp", "dp-tp-pp", rails},
    {"RailsPpTpDp", "pp-tp-dp", rails},
    {"RailsPpDpTp", "pp-dp-tp", rails},
    {"RailsRoundRobin", "round_robin", rails},
    {"FullNodesTpPpDp", "tp-pp-dp", full_nodes, 8},
    {"FullNodesRoundRobin", "round_robin", full_nodes},
    {"FullNodesDpPpTp", "dp-pp-tp", full_nodes},
    {"OversubscribedTpPpDp", "tp-pp-dp", oversubscribed},
    {"OversubscribedColumn", "column", oversubscribed},
    {"SuperPodTpPpDp", "tp-pp-dp", superpod, 8},
    {"SuperPodPpTpDp", "pp-tp-dp", superpod},
    {"IdleGpusAverage", "average", idle, 4},
    {"IdleGpusRoundRobin", "round_robin", idle},
    {"DragonflyTpPpDp", "tp-pp-dp", dragonfly},
    {"UnevenGroups", "0-2,8,3-7,9-15,20-31,16-19,40-47,32-39,48-63", rails},
};

class Placed : public testing::TestWithParam<Case> {};

TEST_P(Placed, FoldedEqualsUnfolded) {
    const Case& c = GetParam();
    nlohmann::json patch = nlohmann::json::parse(c.more);
    patch["strategy"]["placement"] = c.placement;
    const scenarios::Scenario scenario = small_scenario(patch.dump());
    const topology::Cluster cluster = topology::build(scenario.cluster);
    ASSERT_FALSE(scenario.plan.placement.linear());
    const Columns columns = tensor_columns(scenario.plan.mesh(), scenario.plan.placement, cluster);
    EXPECT_EQ(columns.width, c.columns);
    const Agreement agreement = check_folding(scenario, profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

INSTANTIATE_TEST_SUITE_P(Property, Placed, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

class Shuffled : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Shuffled, FoldedEqualsUnfolded) {
    std::mt19937_64 random(GetParam());
    scenarios::Scenario scenario = scenario_of(random_document(GetParam()));
    const topology::Cluster cluster = topology::build(scenario.cluster);
    scenario.plan.placement = shuffled(scenario.gpus, cluster.gpus(), random);
    SCOPED_TRACE(fmt::format("seed {}", GetParam()));
    const Agreement agreement = check_folding(scenario, profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

INSTANTIATE_TEST_SUITE_P(Property, Shuffled, testing::Range<std::uint64_t>(1, 25));

TEST(Placement, LinearByAnyNameChangesNothingBitByBit) {
    for (const char* more : {rails, full_nodes, oversubscribed, superpod}) {
        const scenarios::Scenario plain = small_scenario(more);
        std::vector<std::uint32_t> same(plain.gpus);
        std::iota(same.begin(), same.end(), 0U);
        scenarios::Scenario listed = plain;
        listed.plan.placement = RankPlacement(std::move(same));
        for (const bool fold : {true, false}) EXPECT_EQ(step_seconds(listed, fold), step_seconds(plain, fold)) << more;
    }
}

/// On one switch all nodes are alike: moving whole nodes, and GPUs inside all nodes in the same way, changes nothing.
TEST(Placement, AnAutomorphismOfTheClusterChangesNothing) {
    std::mt19937_64 random(7);
    for (const char* more : {rails, full_nodes, idle}) {
        const scenarios::Scenario plain = small_scenario(more);
        const double seconds = step_seconds(plain);
        for (int turn = 0; turn < 4; ++turn) {
            std::vector<std::uint32_t> nodes(8), gpus;
            std::iota(nodes.begin(), nodes.end(), 0U);
            for (std::size_t i = nodes.size(); i > 1; --i) std::swap(nodes[i - 1], nodes[random() % i]);
            const auto shift = static_cast<std::uint32_t>(random() % 8);
            for (std::uint32_t rank = 0; rank < plain.gpus; ++rank)
                gpus.push_back(8 * nodes[rank / 8] + (rank + shift) % 8);
            scenarios::Scenario moved = plain;
            moved.plan.placement = RankPlacement(gpus);
            SCOPED_TRACE(fmt::format("{} on {}", more, fmt::join(gpus, ",")));
            ASSERT_FALSE(moved.plan.placement.linear());
            EXPECT_NEAR(step_seconds(moved), seconds, 1e-9 * seconds);
            EXPECT_NEAR(step_seconds(moved, false), seconds, 1e-9 * seconds);
        }
    }
}

TEST(Placement, TensorGroupsAcrossNodesAreSlower) {
    nlohmann::json patch = nlohmann::json::parse(rails);
    patch["model"] = {{"hidden_size", 4096}, {"num_attention_heads", 32}};
    patch["training"] = {{"seq_length", 2048}, {"cuda_graph", true}};
    scenarios::Scenario scenario = small_scenario(patch.dump());
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const auto placed = [&](const char* name) {
        scenario.plan.placement =
            strategies::named_placement(name, scenario.plan.mesh(), {cluster.nodes(), cluster.gpus_per_node()});
        return step_seconds(scenario);
    };
    const double inside = placed("linear");
    EXPECT_GT(placed("round_robin"), 1.2 * inside);
    EXPECT_GT(placed("pp-dp-tp"), 1.2 * inside);
    EXPECT_LT(placed("tp-pp-dp"), 1.2 * inside);
}

/// A straggler is a rank, wherever it runs.
TEST(Placement, StragglersFollowTheirRank) {
    nlohmann::json patch = nlohmann::json::parse(rails);
    patch["perturbations"]["stragglers"] = {"rank 5 x 2"};
    const scenarios::Scenario plain = small_scenario(patch.dump());
    patch["strategy"]["placement"] = "8-63,0-7";
    const scenarios::Scenario moved = small_scenario(patch.dump());
    const double seconds = quick(plain).step_time_s;
    EXPECT_NEAR(quick(moved).step_time_s, seconds, 1e-9 * seconds);
    const Agreement agreement = check_folding(moved, profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
}

/// Without contention the replay of a placed step is the longest path; contention only delays.
TEST(Placement, ReplayAgainstLongestPath) {
    for (const char* name : {"tp-pp-dp", "dp-tp-pp", "round_robin"}) {
        SCOPED_TRACE(name);
        const scenarios::Scenario scenario =
            small_scenario(fmt::format(R"({{"model": {{"num_hidden_layers": 2}}, "strategy": {{"placement": "{}"}},
                "training": {{"global_batch_size": 8}}}})",
                                       name));
        const topology::Cluster cluster = topology::build(scenario.cluster);
        const RanStep ran(scenario.plan, cluster, profiles().find(scenario.profile), {.fold = false});
        const auto oracle = longest_path(ran.program, ran.costs, ran.network, scenario.plan.placement);
        const auto engine = make_uncontended_engine(ran.folding->capacities);
        const Replayed alone = replay(ran.program, ran.costs, ran.network, *ran.folding, *engine);
        for (std::uint32_t rank = 0; rank < oracle.size(); ++rank)
            for (std::size_t i = 0; i < oracle[rank].size(); ++i) {
                const double end = oracle[rank][i].end;
                ASSERT_NEAR(alone.classes[rank].spans[i].end, end, 1e-9 * std::max(end, 1e-3)) << rank << " op " << i;
                ASSERT_GE(ran.replayed.classes[rank].spans[i].end, end - 1e-9 * std::max(end, 1e-3));
            }
    }
}

TEST(Placement, FastEngineEqualsSimGrid) {
    for (const char* name : {"tp-pp-dp", "pp-tp-dp", "round_robin"}) {
        SCOPED_TRACE(name);
        const std::string patch = fmt::format(R"({{"strategy": {{"placement": "{}"}}}})", name);
        const Agreement agreement = check_engine(small_scenario(patch), profiles(), true);
        EXPECT_TRUE(agreement.agrees()) << agreement.text();
    }
}

}  // namespace
}  // namespace orrery::sim
