// Laws of steps with experts: against dense steps, against the oracle, folded against unfolded, and under imbalance.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "sim/agreement.hpp"
#include "sim/oracle.hpp"
#include "sim/run_step.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr const char* experts = R"({
    "model": {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 2048},
    "strategy": {"tensor": 1, "pipeline": 2, "data": 8, "expert": 4, "sharding": "zero1"},
    "training": {"cuda_graph": true}})";  // else the host hides what the device does

scenarios::Scenario moe(const std::string& patch = "{}") {
    auto document = nlohmann::json::parse(experts);
    document.merge_patch(nlohmann::json::parse(patch));
    return small_scenario(document.dump());
}

double seconds(const scenarios::Scenario& scenario) { return quick(scenario).step_time_s; }

/// Folded and unfolded, and the longest path wherever nothing contends.
void expect_exact(const scenarios::Scenario& scenario) {
    const Agreement agreement = check_folding(scenario, profiles(), EngineKind::fast);
    EXPECT_TRUE(agreement.agrees()) << agreement.text();
    if (!scenario.perturbations.none()) return;
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const RanStep step(scenario.plan, cluster, profiles().find(scenario.profile), {.fold = false});
    const auto oracle = longest_path(step.program, step.costs, step.network);
    const auto engine = make_uncontended_engine(step.folding->capacities);
    const Replayed alone = replay(step.program, step.costs, step.network, *step.folding, *engine);
    for (std::uint32_t rank = 0; rank < oracle.size(); ++rank)
        for (std::size_t i = 0; i < oracle[rank].size(); ++i)
            ASSERT_NEAR(alone.classes[rank].spans[i].end, oracle[rank][i].end, 1e-9) << rank << " op " << i;
}

TEST(Experts, OneThatAllTakeCostsADenseStepAndItsRouter) {
    const char* plan = R"({"strategy": {"tensor": 1, "pipeline": 1, "data": 16}})";
    const auto dense = small_scenario(plan);
    auto one = dense;
    one.plan.model.experts = one.plan.model.experts_per_token = one.plan.model.moe_layer_freq = 1;
    one.plan.model.expert_ffn = one.plan.model.ffn;
    const Prediction a = quick(dense), b = quick(one);
    EXPECT_NEAR(b.stages[0].attention, a.stages[0].attention, 1e-12);
    EXPECT_EQ(b.stages[0].expert_comm, 0);
    EXPECT_GT(b.step_time_s, a.step_time_s);
    // The router's kernels and the moves of tokens, of 8 layers and 2 micro-batches.
    const topology::Cluster cluster = topology::build(one.cluster);
    const RanStep step(one.plan, cluster, profiles().find(one.profile));
    double added = 0;
    for (const strategies::Program& block : step.program.blocks)
        for (const strategies::Op& op : block.ops) {
            const std::string& name = step.program.names[op.label.name];
            const auto* kernel = std::get_if<strategies::Compute>(&op.what);
            const bool ours = name.find("router") != std::string::npos || name.find("gate") != std::string::npos ||
                              name.find("permute") != std::string::npos;
            if (kernel != nullptr && ours) added += step.costs[0].kernels()[kernel->kernel].seconds;
        }
    const auto busy = [](const Breakdown& s) { return s.gemm + s.attention + s.memory_bound; };
    const double more = busy(b.stages[0]) - busy(a.stages[0]);
    EXPECT_NEAR(more, 8 * 2 * added, 0.02 * more) << "but for the norms of the router's weights";
}

TEST(Experts, StepsFoldExactlyAndEqualTheLongestPath) {
    for (const char* patch :
         {"{}", R"({"strategy": {"pipeline": 1, "data": 16, "expert": 8}})",
          R"({"strategy": {"pipeline": 1, "data": 16, "expert": 16}, "model": {"num_experts": 16}})",
          R"({"strategy": {"tensor": 2, "data": 4, "expert": 4, "sequence_parallel": true}})",
          R"({"strategy": {"tensor": 2, "data": 4, "expert": 4, "expert_tensor": 1, "sequence_parallel": true}})",
          R"({"strategy": {"overlap_grad_reduce": true, "overlap_param_gather": true, "recompute": "full"}})",
          R"({"model": {"moe_layer_freq": 2, "moe_shared_expert_intermediate_size": 1024}})",
          R"({"strategy": {"virtual_pipeline": 2, "expert": 2}})",
          R"({"strategy": {"moe_token_dispatcher_type": "flex"}})",
          R"({"strategy": {"pipeline": 1, "data": 16, "expert": 8, "overlap_moe_expert_parallel_comm": true}})",
          R"({"strategy": {"virtual_pipeline": 2, "expert": 4, "overlap_moe_expert_parallel_comm": true,
              "moe_token_dispatcher_type": "flex"}, "training": {"cuda_graph": false}})",
          R"({"training": {"cuda_graph_scope": "outside_experts"}})",
          R"({"strategy": {"tensor": 2, "data": 4, "sequence_parallel": true, "moe_token_dispatcher_type": "flex"},
              "training": {"cuda_graph_scope": "outside_experts", "moe_permute_fusion": false}})"}) {
        SCOPED_TRACE(patch);
        expect_exact(moe(patch));
    }
}

/// A graph of everything saves the host most, one without the experts less, none nothing.
TEST(Experts, WhatStaysOutOfAGraphCostsTheHost) {
    const auto step = [](const char* training) {
        return seconds(moe(fmt::format(R"({{"model": {{"hidden_size": 256, "moe_intermediate_size": 256}},
            "training": {{"seq_length": 128, {}}}}})",
                                       training)));
    };
    const double whole = step(R"("cuda_graph": true)"),
                 part = step(R"("cuda_graph": true, "cuda_graph_scope": "outside_experts")"),
                 none = step(R"("cuda_graph": false)"),
                 same = step(R"("cuda_graph": false, "cuda_graph_scope": "outside_experts")");
    EXPECT_LT(whole, part);
    EXPECT_LT(part, none);
    EXPECT_EQ(none, same) << "without a graph its scope means nothing";
}

/// Under Transformer Engine routers have operators of PyTorch's, which a graph may hold alone.
TEST(Experts, GraphsOfRoutersSaveTheHostTheirOperators) {
    const auto step = [](const char* training) {
        return seconds(moe(fmt::format(R"({{"model": {{"hidden_size": 256, "moe_intermediate_size": 256}},
            "training": {{"seq_length": 128, "software": "transformer-engine", {}}}}})",
                                       training)));
    };
    const double part = step(R"("cuda_graph": true, "cuda_graph_scope": "outside_experts")"),
                 routers = step(R"("cuda_graph": true, "cuda_graph_scope": "routers")"),
                 none = step(R"("cuda_graph": false)");
    EXPECT_LT(part, routers);
    EXPECT_LT(routers, none);
}

TEST(Experts, ExchangesAreOnTheCriticalPath) {
    for (const char* patch : {"{}", R"({"strategy": {"pipeline": 1, "data": 16, "expert": 8}})"}) {
        const Prediction p = quick(moe(patch));
        for (const Breakdown& stage : p.stages) {
            EXPECT_GT(stage.expert_comm, 0);
            EXPECT_NEAR(stage.total(), p.step_time_s, 1e-9);
        }
    }
    const auto exchanged = [](int ranks) {
        const auto sixteen = moe(fmt::format(
            R"({{"strategy": {{"pipeline": 1, "data": 16, "expert": {}}}, "model": {{"num_experts": 16}}}})", ranks));
        return quick(sixteen).stages[0].expert_comm;
    };
    EXPECT_GT(exchanged(16), exchanged(8)) << "between nodes tokens take longer";
    EXPECT_EQ(exchanged(1), 0);
}

/// Beside another micro-batch exchanges cost what does not hide, and what kernels take longer beside them.
TEST(Experts, ExchangesHideBesideAnotherMicroBatch) {
    for (const char* plan : {R"("pipeline": 1, "data": 16, "expert": 8)",
                             R"("pipeline": 1, "data": 16, "expert": 8, "moe_token_dispatcher_type": "flex")",
                             R"("virtual_pipeline": 2, "expert": 4)"}) {
        const auto with = [&](const char* overlap) {
            return quick(moe(fmt::format(R"({{"strategy": {{{}, "overlap_moe_expert_parallel_comm": {}}},
                "training": {{"global_batch_size": 256}}}})",
                                         plan, overlap)));
        };
        const Prediction exposed = with("false"), beside = with("true");
        EXPECT_LT(beside.step_time_s, exposed.step_time_s) << plan;
        for (std::size_t stage = 0; stage < beside.stages.size(); ++stage) {
            EXPECT_LT(beside.stages[stage].expert_comm, 0.6 * exposed.stages[stage].expert_comm) << plan;
            EXPECT_GT(beside.stages[stage].expert_comm, 0) << "the first and the last micro-batch are alone";
            EXPECT_NEAR(beside.stages[stage].gemm, exposed.stages[stage].gemm, 1e-9 * exposed.step_time_s);
            EXPECT_NEAR(beside.stages[stage].total(), beside.step_time_s, 1e-9);
        }
    }
}

TEST(Imbalance, LengthensTheStepTheMoreTheLargerItIs) {
    double before = seconds(moe());
    for (const double factor : {1.1, 1.5, 2.0, 4.0}) {
        const double now = seconds(moe(fmt::format(R"({{"perturbations": {{"expert_imbalance": {}}}}})", factor)));
        EXPECT_GT(now, before) << factor;
        before = now;
    }
}

TEST(Imbalance, OneMeansNothingToTheBit) {
    const auto one = moe(R"({"perturbations": {"expert_imbalance": 1, "expert_loads": ["expert ranks 0-3 x 1"]}})");
    EXPECT_TRUE(one.perturbations.none());
    EXPECT_EQ(seconds(one), seconds(moe()));
}

TEST(Imbalance, TheListSaysTheSame) {
    const double number = seconds(moe(R"({"perturbations": {"expert_imbalance": 1.6}})"));
    const double list = seconds(moe(R"({"perturbations": {"expert_loads": ["expert rank 0 x 1.6"]}})"));
    const double all = seconds(moe(R"({"perturbations": {"expert_loads": ["expert rank 0 x 1.6",
                                       "expert ranks 1-3 x 0.8"]}})"));
    EXPECT_EQ(number, list);
    EXPECT_NEAR(number, all, 1e-12);
}

/// Of eight experts on four ranks the shares are sums of two terms of the series.
TEST(Imbalance, ZipfsLawIsAListOfItsOwn) {
    scenarios::Perturbations table{.expert_zipf = 1};
    const double sum = 761.0 / 280;  // 1 + 1/2 + ... + 1/8
    const std::vector<double> loads = scenarios::expert_loads(table, 4, 8);
    EXPECT_NEAR(loads[0], 4 * (1 + 1.0 / 2) / sum, 1e-12);
    EXPECT_NEAR(loads[3], 4 * (1.0 / 7 + 1.0 / 8) / sum, 1e-12);
    double before = seconds(moe());
    for (const double exponent : {0.2, 0.8, 1.6}) {
        const double now = seconds(moe(fmt::format(R"({{"perturbations": {{"expert_zipf": {}}}}})", exponent)));
        EXPECT_GT(now, before) << exponent;
        before = now;
    }
    EXPECT_EQ(seconds(moe(R"({"perturbations": {"expert_zipf": 0}})")), seconds(moe()));
    expect_exact(moe(R"({"perturbations": {"expert_zipf": 1.2}})"));
}

/// Beyond the capacity tokens are dropped: the time stays what it is there, and padded experts never notice.
TEST(Imbalance, CapacityBoundsTheTime) {
    const auto with = [](const char* training, double factor) {
        return seconds(
            moe(fmt::format(R"({{"training": {}, "perturbations": {{"expert_imbalance": {}}}}})", training, factor)));
    };
    const char* capacity = R"({"moe_expert_capacity_factor": 1.25})";
    EXPECT_LT(with(capacity, 1.1), with(capacity, 1.25));
    EXPECT_LE(with(capacity, 3), with(capacity, 1.25) * (1 + 1e-12));
    EXPECT_LT(with(capacity, 3), with("{}", 3));
    const char* padded = R"({"moe_expert_capacity_factor": 1.25, "moe_pad_expert_input_to_capacity": true})";
    EXPECT_NEAR(with(padded, 1), with(padded, 3), 1e-9 * with(padded, 1));
    EXPECT_GT(with(padded, 1), with(capacity, 1));
}

TEST(Imbalance, NoTokenIsLost) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        const auto ranks = static_cast<std::uint32_t>(2 + random() % 30);
        scenarios::Perturbations table;
        const auto named = static_cast<std::uint32_t>(random() % ranks);
        for (std::uint32_t rank = 0; rank < named; ++rank)
            table.expert_loads.push_back({rank, rank, static_cast<double>(random() % 100) / 100});
        const auto loads = scenarios::expert_loads(table, ranks, 4 * ranks);
        double sum = 0;
        for (const double load : loads) sum += load;
        EXPECT_NEAR(sum, ranks, 1e-9);
        EXPECT_GE(*std::min_element(loads.begin(), loads.end()), 0);
    }
}

TEST(Imbalance, FoldsExactly) {
    for (const char* patch :
         {R"({"perturbations": {"expert_imbalance": 1.5}})",
          R"({"perturbations": {"expert_loads": ["expert rank 1 x 0.2", "expert rank 3 x 2"],
                                "stragglers": ["rank 3 x 2"]}})",
          R"({"strategy": {"tensor": 2, "data": 4, "expert": 4, "expert_tensor": 1, "sequence_parallel": true},
              "perturbations": {"expert_imbalance": 2}})",
          R"({"strategy": {"tensor": 2, "data": 4, "expert": 4, "sequence_parallel": true},
              "perturbations": {"expert_imbalance": 2}})"}) {
        SCOPED_TRACE(patch);
        expect_exact(moe(patch));
    }
}

TEST(Imbalance, BadTablesNameTheirKey) {
    const auto pointer = [](const std::string& table, const std::string& patch = "{}") {
        auto document = nlohmann::json::parse(patch);
        document["perturbations"] = nlohmann::json::parse(table);
        try {
            (void)moe(document.dump());
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty());
            return error.pointer();
        }
        return std::string("legal");
    };
    EXPECT_EQ(pointer(R"({"expert_imbalance": 4})"), "legal") << "one of four receives everything";
    EXPECT_EQ(pointer(R"({"expert_imbalance": 4.1})"), "/perturbations/expert_imbalance");
    EXPECT_EQ(pointer(R"({"expert_imbalance": 0.5})"), "/perturbations/expert_imbalance");
    EXPECT_EQ(pointer(R"({"expert_imbalance": 2})", R"({"strategy": {"expert": 1}})"),
              "/perturbations/expert_imbalance");
    EXPECT_EQ(pointer(R"({"expert_imbalance": 2, "expert_loads": ["expert rank 1 x 2"]})"),
              "/perturbations/expert_loads/0");
    EXPECT_EQ(pointer(R"({"expert_loads": ["expert rank 4 x 2"]})"), "/perturbations/expert_loads");
    EXPECT_EQ(pointer(R"({"expert_zipf": 1, "expert_imbalance": 2})"), "/perturbations/expert_zipf");
    EXPECT_EQ(pointer(R"({"expert_zipf": -1})"), "/perturbations/expert_zipf");
    EXPECT_EQ(pointer(R"({"expert_loads": ["expert ranks 0-1 x 2.5"]})"), "/perturbations/expert_loads");
    EXPECT_EQ(pointer(R"({"expert_loads": ["expert ranks 0-3 x 0.5"]})"), "/perturbations/expert_loads");
    EXPECT_EQ(pointer(R"({"expert_loads": ["expert rank 1 x 1.5", "expert ranks 0-2 x 1"]})"),
              "/perturbations/expert_loads");
    EXPECT_EQ(pointer(R"({"expert_loads": ["rank 1 x 1.5"]})"), "/perturbations/expert_loads/0");
    EXPECT_EQ(pointer(R"({"expert_loads": ["expert rank 1"]})"), "/perturbations/expert_loads/0");
    EXPECT_EQ(pointer(R"({"expert_loads": ["expert rank 1 x -1"]})"), "/perturbations/expert_loads/0");
}

}  // namespace
}  // namespace orrery::sim
