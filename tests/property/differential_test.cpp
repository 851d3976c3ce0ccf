// Independent ways to the same times, over random scenarios and shipped ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "sim/oracle.hpp"
#include "sim/run_step.hpp"
#include "strategies/build.hpp"
#include "strategies/rank_placement.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

constexpr std::uint64_t first_seed = 1, seeds = 200;
/// The oracle sweeps over all operations again and again: programs unrolled because of their cluster are left out.
constexpr std::size_t most_operations = 3000;

void for_each_scenario(const std::function<void(const scenarios::Scenario&)>& check) {
    for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
        const nlohmann::json document = random_document(seed);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + document.dump());
        check(scenario_of(document));
        if (testing::Test::HasFailure()) return;
    }
    for (const char* file : {"gpt-1.7b-dgx-a100", "llama3-8b-dgx-h100", "gpt2-xl-dgx-2", "qwen2-7b-superpod-h100"}) {
        SCOPED_TRACE(file);
        check(scenarios::load(std::filesystem::path("scenarios") / (std::string(file) + ".json")));
    }
}

double tolerance(double seconds) { return 1e-9 * std::max(seconds, 1e-3); }

void expect_same(const std::vector<Span>& a, const std::vector<Span>& b, const std::string& who) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_NEAR(a[i].begin, b[i].begin, tolerance(b[i].begin)) << who << " op " << i;
        ASSERT_NEAR(a[i].end, b[i].end, tolerance(b[i].end)) << who << " op " << i;
    }
}

struct Ran {
    explicit Ran(const scenarios::Scenario& scenario, bool fold)
        : cluster(topology::build(scenario.cluster)),
          step(scenario.plan, cluster, profiles().find(scenario.profile), {.fold = fold}) {}
    topology::Cluster cluster;
    RanStep step;
};

/// Without contention the replay is the longest path; contention only delays.
TEST(Differential, ReplayAgainstLongestPath) {
    for_each_scenario([](const scenarios::Scenario& scenario) {
        const Ran ran(scenario, false);
        const RanStep& step = ran.step;
        if (step.program.programs[0].ops.size() > most_operations) return;
        const auto oracle = longest_path(step.program, step.costs, step.network);
        const auto engine = make_uncontended_engine(step.folding->capacities);
        const Replayed alone = replay(step.program, step.costs, step.network, *step.folding, *engine);
        for (std::uint32_t rank = 0; rank < oracle.size(); ++rank) {
            expect_same(alone.classes[rank].spans, oracle[rank], "rank " + std::to_string(rank));
            const auto& contended = step.replayed.classes[rank].spans;
            for (std::size_t i = 0; i < contended.size(); ++i)
                ASSERT_GE(contended[i].end, oracle[rank][i].end - tolerance(oracle[rank][i].end))
                    << rank << " op " << i;
        }
    });
}

/// One rank of each class stands for all of them.
TEST(Differential, FoldedAgainstUnfolded) {
    for_each_scenario([](const scenarios::Scenario& scenario) {
        const Ran folded(scenario, true), unfolded(scenario, false);
        const double end = unfolded.step.replayed.end;
        EXPECT_NEAR(folded.step.replayed.end, end, tolerance(end));
        for (std::uint32_t rank = 0; rank < unfolded.step.folding->classes.size(); ++rank)
            expect_same(folded.step.replayed.classes[folded.step.folding->class_of[rank]].spans,
                        unfolded.step.replayed.classes[rank].spans, "rank " + std::to_string(rank));
    });
}

Replayed replayed(const strategies::StepProgram& step, const scenarios::Scenario& scenario,
                  const topology::Cluster& cluster) {
    const calibrate::Predictor& predictor = profiles().find(scenario.profile);
    const Network network(cluster, predictor);
    const Costs costs(step, scenario.plan, cluster.gpu(), predictor, network, BesideCollectives::as_alone);
    const auto folded = fold_ranks(step, cluster, network, true);
    const Folding& folding = *folded;
    return replay(step, costs, network, folding, *make_fluid_engine(folding.capacities));
}

/// A call of a block is exactly its operations one by one.
TEST(Differential, CallsAgainstTheirOperations) {
    for_each_scenario([](const scenarios::Scenario& scenario) {
        const topology::Cluster cluster = topology::build(scenario.cluster);
        const strategies::Plan& plan = scenario.plan;
        if (!strategies::layer_groups_are_local(plan.mesh(), plan.placement, cluster.gpus_per_node()))
            return;  // blocks are for groups in a node
        const strategies::StepProgram step = strategies::build(scenario.plan);
        const Replayed calls = replayed(step, scenario, cluster), flat = replayed(unrolled(step), scenario, cluster);
        ASSERT_NEAR(calls.end, flat.end, tolerance(flat.end));
        ASSERT_EQ(calls.classes.size(), flat.classes.size());
        for (std::size_t c = 0; c < calls.classes.size(); ++c) {
            std::size_t after = 0;  // operations up to the end of the current one
            const auto& ops = step.programs[calls.classes[c].role].ops;
            for (std::size_t i = 0; i < ops.size(); ++i) {
                const auto* call = std::get_if<strategies::Call>(&ops[i].what);
                after += call != nullptr ? step.blocks[call->block].ops.size() : 1;
                const double end = flat.classes[c].spans[after - 1].end;
                ASSERT_NEAR(calls.classes[c].spans[i].end, end, tolerance(end)) << "class " << c << " op " << i;
            }
        }
    });
}

/// Rows inside nodes and across them, columns across; classes of ranks where those of all directions meet.
TEST(Differential, GridsOfTensorRanksAcrossNodes) {
    for (const char* strategy : {R"({"tensor": 16, "tensor_mode": "2d", "data": 2})",
                                 R"({"tensor": 16, "tensor_mode": "2.5d", "tensor_depth": 4, "data": 2})",
                                 R"({"tensor": 8, "tensor_mode": "3d", "pipeline": 2, "data": 2})",
                                 R"({"tensor": 27, "tensor_mode": "3d", "data": 1})"}) {
        SCOPED_TRACE(strategy);
        const scenarios::Scenario scenario = scenario_of(nlohmann::json::parse(fmt::format(
            R"({{"model": {{"model_type": "gpt", "num_hidden_layers": 2, "hidden_size": 1152, "num_attention_heads": 12,
                "intermediate_size": 4608, "vocab_size": 5000, "max_position_embeddings": 256}},
                "cluster": {{"preset": "ethernet", "nodes": 8, "gpu": "A100-80GB", "gpus_per_node": 4,
                "nics_per_node": 2, "nic_rate": "100 Gb/s"}}, "strategy": {},
                "training": {{"seq_length": 256, "micro_batch_size": 144, "global_batch_size": 576,
                "precision": "bf16", "cuda_graph": true}}}})",
            strategy)));
        const Ran folded(scenario, true), unfolded(scenario, false);
        const RanStep& step = unfolded.step;
        EXPECT_LE(folded.step.folding->classes.size(), step.folding->classes.size());
        const auto oracle = longest_path(step.program, step.costs, step.network);
        const auto engine = make_uncontended_engine(step.folding->capacities);
        const Replayed alone = replay(step.program, step.costs, step.network, *step.folding, *engine);
        for (std::uint32_t rank = 0; rank < oracle.size(); ++rank) {
            const std::string who = "rank " + std::to_string(rank);
            const auto& spans = step.replayed.classes[rank].spans;
            expect_same(alone.classes[rank].spans, oracle[rank], who);
            expect_same(folded.step.replayed.classes[folded.step.folding->class_of[rank]].spans, spans, who);
        }
    }
}

/// SimGrid's clock and links without contention agree with the fluid engine where no link is shared.
TEST(Differential, FluidEngineAgainstLongestPathWithoutSharing) {
    // data parallelism alone, one rail for each GPU: gradients are the only traffic
    const scenarios::Scenario scenario = small_scenario(R"({"cluster": {"nodes": 4},
        "strategy": {"tensor": 8, "pipeline": 1, "data": 4, "overlap_grad_reduce": true}})");
    const Ran ran(scenario, true);
    ASSERT_FALSE(ran.step.folding->capacities.empty());
    const auto oracle = longest_path(ran.step.program, ran.step.costs, ran.step.network);
    for (std::uint32_t rank = 0; rank < oracle.size(); ++rank)
        expect_same(ran.step.replayed.classes[ran.step.folding->class_of[rank]].spans, oracle[rank],
                    std::to_string(rank));
}

}  // namespace
}  // namespace orrery::sim
