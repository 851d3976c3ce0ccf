// More work never takes less, a better machine never more; over random scenarios.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "sim/run_step.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using nlohmann::json;

constexpr std::uint64_t first_seed = 1000, seeds = 200;
constexpr double rounding = 1e-9;

/// Where transfers share links, more work may come at better times and end earlier (Graham 1969, "Bounds on
/// multiprocessing timing anomalies"); without sharing it cannot.
constexpr double anomaly = 0.05;

using Change = std::function<void(json&)>;

/// Random scenarios as `first` leaves them, and with `second` on top.
void for_each_pair_of_scenarios(
    const Change& first, const Change& second,
    const std::function<void(const scenarios::Scenario&, const scenarios::Scenario&)>& check) {
    for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
        json document = random_document(seed);
        first(document);
        json changed = document;
        second(changed);
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + document.dump());
        check(scenario_of(document), scenario_of(changed));
        if (testing::Test::HasFailure()) return;
    }
}

void for_each_pair(const Change& first, const Change& second,
                   const std::function<void(const Prediction&, const Prediction&)>& check) {
    for_each_pair_of_scenarios(first, second, [&](const scenarios::Scenario& one, const scenarios::Scenario& other) {
        check(quick(one), quick(other));
    });
}

/// Of a step whose transfers do not hinder each other.
double uncontended_seconds(const scenarios::Scenario& scenario) {
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const RanStep ran(scenario.plan, cluster, profiles().find(scenario.profile), {.fold = false});
    const auto engine = make_uncontended_engine(ran.folding->capacities);
    return replay(ran.program, ran.costs, ran.network, *ran.folding, *engine).end;
}

void expect_more_takes_no_less(const Change& first, const Change& more, double tolerance = rounding) {
    for_each_pair_of_scenarios(first, more,
                               [tolerance](const scenarios::Scenario& one, const scenarios::Scenario& other) {
                                   EXPECT_GE(uncontended_seconds(other), uncontended_seconds(one) * (1 - tolerance));
                                   EXPECT_GE(quick(other).step_time_s, quick(one).step_time_s * (1 - anomaly));
                               });
}

void unchanged(json&) {}

/// Layers that are recomputed, or more of them, leave less to copy or more time for it.
void without_offloading(json& s) { s["strategy"].erase("cpu_offloading_num_layers"); }

void twice(json& value) { value = 2 * value.get<std::uint64_t>(); }

void without_recomputation(json& s) {
    s["strategy"]["recompute"] = "none";
    s["strategy"].erase("recompute_num_layers");
}

/// Measured matrix products do not grow with every dimension, least of all those that take microseconds.
constexpr double measured = 0.01;
void with_large_kernels(json& s) {
    s["training"]["seq_length"] = s["model"]["max_position_embeddings"] = 1024;
    s["model"]["intermediate_size"] = 4096;
}

/// Wider layers fill gradient buckets sooner, which may then leave sooner.
void without_buckets(json& s) {
    s["strategy"].erase("overlap_param_gather");
    s["strategy"]["overlap_grad_reduce"] = false;
}

TEST(Growth, ALargerBatchTakesNoLess) {
    expect_more_takes_no_less(unchanged, [](json& s) { twice(s["training"]["global_batch_size"]); });
}

TEST(Growth, MoreLayersTakeNoLess) {
    expect_more_takes_no_less(without_offloading, [](json& s) { twice(s["model"]["num_hidden_layers"]); });
}

TEST(Growth, MoreLayersNeedMoreMemory) {
    for_each_pair(
        unchanged, [](json& s) { twice(s["model"]["num_hidden_layers"]); },
        [](const Prediction& less, const Prediction& more) {
            for (std::size_t stage = 0; stage < less.memory.size(); ++stage)
                EXPECT_GT(more.memory[stage].peak, less.memory[stage].peak);
        });
}

TEST(Growth, AWiderModelTakesNoLess) {
    const auto first = [](json& s) {
        with_large_kernels(s);
        without_buckets(s);
    };
    expect_more_takes_no_less(
        first, [](json& s) { twice(s["model"]["intermediate_size"]); }, measured);
}

TEST(Growth, LongerSequencesTakeNoLess) {
    const auto more = [](json& s) {
        twice(s["training"]["seq_length"]);
        twice(s["model"]["max_position_embeddings"]);
    };
    expect_more_takes_no_less(with_large_kernels, more, measured);
}

TEST(Growth, RecomputingTakesNoLess) {
    const auto first = [](json& s) {
        without_recomputation(s);
        without_offloading(s);
    };
    expect_more_takes_no_less(first, [](json& s) { s["strategy"]["recompute"] = "full"; });
}

/// Of a chunk; where there is no more than one all of them.
void offload(json& s, bool all) {
    const auto of = [&](const char* key) {
        return s["strategy"].contains(key) ? s["strategy"][key].get<std::uint32_t>() : 1;
    };
    const std::uint32_t chunk =
        s["model"]["num_hidden_layers"].get<std::uint32_t>() / (of("pipeline") * of("virtual_pipeline"));
    s["strategy"]["cpu_offloading_num_layers"] = all ? chunk : (chunk + 1) / 2;
}
void offload_half(json& s) { offload(s, false); }
void offload_all(json& s) { offload(s, true); }

TEST(Growth, OffloadingTakesNoLess) {
    expect_more_takes_no_less(without_offloading, offload_half);
    expect_more_takes_no_less(offload_half, offload_all);
}

/// 64 GPUs or fewer on Ethernet, whose rate can be chosen.
void on_ethernet(json& s) {
    const auto ranks = s["strategy"]["tensor"].get<std::uint32_t>() * s["strategy"]["pipeline"].get<std::uint32_t>() *
                       s["strategy"]["data"].get<std::uint32_t>();
    s["cluster"] = {{"preset", "ethernet"}, {"gpu", "A100-80GB"},     {"gpus_per_node", 8},
                    {"nics_per_node", 2},   {"nic_rate", "100 Gb/s"}, {"nodes", (ranks + 7) / 8}};
    s["training"]["precision"] = "bf16";
    s["training"].erase("grad_reduce_precision");
}

TEST(Growth, FasterNicsNeverSlowAStep) {
    for_each_pair(
        on_ethernet, [](json& s) { s["cluster"]["nic_rate"] = "200 Gb/s"; },
        [](const Prediction& slow, const Prediction& fast) {
            EXPECT_LE(fast.step_time_s, slow.step_time_s * (1 + rounding));
        });
}

std::uint64_t largest_peak(const Prediction& p) {
    std::uint64_t peak = 0;
    for (const StageMemory& stage : p.memory) peak = std::max(peak, stage.peak);
    return peak;
}

void expect_no_more_memory(const Prediction& before, const Prediction& after) {
    EXPECT_LE(largest_peak(after), largest_peak(before));
}

TEST(Growth, SelectiveRecomputationNeedsNoMoreMemory) {
    for_each_pair(
        without_recomputation, [](json& s) { s["strategy"]["recompute"] = "selective"; }, expect_no_more_memory);
}

TEST(Growth, OffloadingNeedsNoMoreMemory) {
    for_each_pair(without_offloading, offload_half, expect_no_more_memory);
    for_each_pair(offload_half, offload_all, expect_no_more_memory);
}

TEST(Growth, ADistributedOptimizerNeedsNoMoreMemory) {
    for_each_pair(
        [](json& s) {
            s["strategy"]["sharding"] = "none";
            s["strategy"].erase("overlap_param_gather");
        },
        [](json& s) { s["strategy"]["sharding"] = "zero1"; }, expect_no_more_memory);
}

/// What every prediction must satisfy.
TEST(Growth, PredictionsAreSane) {
    for_each_pair(unchanged, unchanged, [](const Prediction& one, const Prediction& two) {
        EXPECT_EQ(one.step_time_s, two.step_time_s);
        EXPECT_GT(one.mfu, 0);
        EXPECT_LT(one.mfu, 1);
        EXPECT_LT(one.hfu, 1);
        for (const Breakdown& b : one.stages) {
            EXPECT_NEAR(b.total(), one.step_time_s, rounding * one.step_time_s);
            for (const double part : {b.gemm, b.attention, b.memory_bound, b.tensor_comm, b.pipeline_comm, b.data_comm,
                                      b.offload, b.optimizer, b.launch, b.bubble})
                EXPECT_GE(part, -rounding * one.step_time_s);
        }
    });
}

}  // namespace
}  // namespace orrery::sim
