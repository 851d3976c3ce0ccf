// More work never takes less, a better machine never more; over random scenarios.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/property/more.hpp"
#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using laws::offload_all;
using laws::offload_half;
using laws::unchanged;
using laws::without_offloading;
using laws::without_recomputation;
using nlohmann::json;

constexpr std::uint64_t first_seed = 1000, seeds = 200;
constexpr double rounding = 1e-9;

/// Where transfers share links, more work may come at better times and end earlier (Graham 1969, "Bounds on
/// multiprocessing timing anomalies"; an example in sim/README.md); without sharing it cannot. No law bounds by how
/// much: over these scenarios it is less than this.
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

class More : public testing::TestWithParam<laws::Growth> {};

TEST_P(More, TakesNoLess) {
    const laws::Growth& growth = GetParam();
    for_each_pair_of_scenarios(growth.first, growth.more, [&](const auto& one, const auto& other) {
        const calibrate::Predictor& predictor = laws::predictor_of(growth, one);
        EXPECT_GE(laws::uncontended_seconds(other, predictor),
                  laws::uncontended_seconds(one, predictor) * (1 - rounding));
        EXPECT_GE(laws::step_seconds(other, predictor), laws::step_seconds(one, predictor) * (1 - anomaly));
    });
}

INSTANTIATE_TEST_SUITE_P(Growth, More, testing::ValuesIn(laws::growths().begin(), laws::growths().end()),
                         [](const auto& test) {
                             std::string name(test.param.name);
                             for (const char c : {' ', '-'}) std::ranges::replace(name, c, '_');
                             return name;
                         });

TEST(Growth, MoreLayersNeedMoreMemory) {
    for_each_pair(
        laws::with_equal_stages,
        [](json& s) { s["model"]["num_hidden_layers"] = 2 * s["model"]["num_hidden_layers"].get<int>(); },
        [](const Prediction& less, const Prediction& more) {
            for (std::size_t stage = 0; stage < less.memory.size(); ++stage)
                EXPECT_GT(more.memory[stage].peak, less.memory[stage].peak);
        });
}

/// 64 GPUs or fewer on Ethernet, whose rate can be chosen.
void on_ethernet(json& s) {
    const auto ranks = s["strategy"]["tensor"].get<std::uint32_t>() * s["strategy"]["pipeline"].get<std::uint32_t>() *
                       s["strategy"]["data"].get<std::uint32_t>() * s["strategy"].value("context", 1U);
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
            for (const char* key : {"num_distributed_optimizer_instances", "overlap_param_gather", "compression",
                                    "freeze_step", "zero_quantized_weights", "zero_hpz_partition_size",
                                    "zero_quantized_gradients", "zero_ranks_per_node", "offload_param_device",
                                    "offload_optimizer_device", "offload_optimizer_pipeline_read",
                                    "offload_optimizer_pipeline_write"})
                s["strategy"].erase(key);
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
