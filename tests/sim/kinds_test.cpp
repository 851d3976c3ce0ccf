// Steps on clusters of several kinds of GPU: whose times count where, and what the prediction says of them.
#include "sim/kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "hardware/datasheets.hpp"
#include "sim/collective/nccl_tuning.hpp"
#include "sim/network.hpp"
#include "tests/sim/bench.hpp"
#include "topology/catalog.hpp"

namespace orrery::sim {
namespace {

using kernels::CollectiveKind;

/// 2 nodes of A100, then 2 of H100, then 1 of A100 again.
topology::Cluster three_stretches() {
    return topology::build({.preset = "dgx-a100", .nodes = 2, .more_nodes = {"2 x H100", "1 x A100-80GB"}});
}

Profiles by_gpu() {
    return Profiles({{"A100-SXM4-80GB", &profiles().find("a100")}, {"H100-SXM5-80GB", &profiles().find("h100")}});
}

std::vector<topology::GpuId> gpus(topology::GpuId first, topology::GpuId last) {
    std::vector<topology::GpuId> list(last - first);
    std::iota(list.begin(), list.end(), first);
    return list;
}

TEST(Kinds, NodesWithTheSameGpuAreOfOneKind) {
    const topology::Cluster cluster = three_stretches();
    const Kinds kinds(cluster, by_gpu());
    ASSERT_EQ(kinds.size(), 2U);
    EXPECT_EQ(kinds[0].gpu.name, "A100-SXM4-80GB");
    EXPECT_EQ(kinds[1].predictor->profile().name, "h100");
    EXPECT_EQ(kinds[1].node, 2U);
    for (topology::GpuId gpu = 0; gpu < cluster.gpus(); ++gpu)
        EXPECT_EQ(kinds.of(gpu), gpu >= 16 && gpu < 32 ? 1U : 0U) << gpu;
    EXPECT_EQ(kinds.among(gpus(16, 24)), std::vector<std::uint32_t>{1});
    EXPECT_EQ(kinds.among(gpus(12, 20)), (std::vector<std::uint32_t>{0, 1}));
    EXPECT_EQ(kinds.payload_share(), hardware::infiniband_adapter.payload_share);
    EXPECT_EQ(kinds.most(kinds.among(gpus(0, 40)), "memory_bytes_per_second"), 3.35e12);
}

TEST(Kinds, AGpuWithoutAProfileIsAMistakeOfTheProgram) {
    const topology::Cluster cluster = three_stretches();
    EXPECT_THROW(Kinds(cluster, Profiles({{"A100-SXM4-80GB", &profiles().find("a100")}})), std::logic_error);
}

TEST(Kinds, WhatTheyHaveInCommonDecidesForNccl) {
    const topology::Cluster cluster = three_stretches();
    const std::uint32_t both[] = {0, 2}, hopper[] = {2};
    EXPECT_TRUE(machine_of(cluster, 16, 24, hopper).nvls);
    const Machine common = machine_of(cluster, 0, 16, both);
    EXPECT_FALSE(common.nvls) << "A100's switches do not reduce";
    EXPECT_EQ(common.generation, Machine::Generation::ampere);
    EXPECT_TRUE(common.nvlink);
    EXPECT_EQ(common.post_seconds, machine_of(cluster, 0, 8).post_seconds);
}

TEST(Kinds, ANodeTakesItsOwnTableAndAMixtureTheSlowest) {
    const topology::Cluster cluster = three_stretches();
    const Network network(cluster, by_gpu());
    constexpr double bytes = 256e6;
    const auto seconds = [&](const std::vector<topology::GpuId>& group) {
        const auto path = network.path(group);
        return network.alone(network.collective(CollectiveKind::all_reduce, group, bytes, path), path);
    };
    const auto table = [&](const char* name) {
        const calibrate::Predictor& own = profiles().find(name);
        return own.constant("collective_launch_seconds") + own.collective(CollectiveKind::all_reduce, 8, bytes).seconds;
    };
    EXPECT_DOUBLE_EQ(seconds(gpus(0, 8)), table("a100"));
    EXPECT_DOUBLE_EQ(seconds(gpus(16, 24)), table("h100"));
    EXPECT_DOUBLE_EQ(network.message(16, 17, bytes).latency,
                     1.8e-6 + profiles().find("h100").collective(CollectiveKind::send_recv, 2, bytes).seconds);
    const double a100 = seconds(gpus(0, 16)), h100 = seconds(gpus(16, 32)), mixed = seconds(gpus(8, 24));
    EXPECT_LT(h100, a100);
    EXPECT_NEAR(mixed, a100, 0.01 * a100);
}

/// Two nodes of each kind; data 8 over a stage of one kind, or over both.
constexpr const char* two_kinds = R"({"cluster": {"preset": "dgx-a100", "nodes": 2, "more_nodes": ["2 x H100"]},
    "strategy": {"tensor": 2, "pipeline": 2, "data": 8}})";

TEST(MixedStep, EachStageTakesTheTimesOfItsOwnGpus) {
    const Prediction mixed = quick(small_scenario(two_kinds));
    const auto uniform = [](const char* gpu, const char* preset) {
        nlohmann::json patch = nlohmann::json::parse(two_kinds);
        patch["cluster"] = {{"preset", preset}, {"nodes", 4}, {"gpu", gpu}};
        return quick(small_scenario(patch.dump()));
    };
    const Prediction a100 = uniform("A100-80GB", "dgx-a100"), h100 = uniform("H100", "dgx-h100");
    // Differences of times at which the host is late, which are other times.
    const double rounding = 1e-12 * mixed.step_time_s;
    EXPECT_NEAR(mixed.stages[0].gemm, a100.stages[0].gemm, rounding);
    EXPECT_NEAR(mixed.stages[1].gemm, h100.stages[1].gemm, rounding);
    EXPECT_NEAR(mixed.stages[1].memory_bound, h100.stages[1].memory_bound, rounding);
    EXPECT_GT(mixed.stages[1].bubble, mixed.stages[0].bubble) << "the fast stage waits for the slow one";
}

TEST(MixedStep, SaysWhatTheGpusDo) {
    const Prediction p = quick(small_scenario(two_kinds));
    ASSERT_EQ(p.gpu_kinds.size(), 2U);
    EXPECT_EQ(p.gpu_kinds[0].gpu, "A100-SXM4-80GB");
    EXPECT_EQ(p.gpu_kinds[1].gpu, "H100-SXM5-80GB");
    EXPECT_EQ(p.gpu_kinds[1].profile, "h100");
    EXPECT_EQ(p.profile, "a100, h100");
    for (const GpuUse& use : p.gpu_kinds) {
        EXPECT_EQ(use.gpus, 16U);
        EXPECT_NEAR(use.mean.total(), p.step_time_s, 1e-9 * p.step_time_s);
    }
    EXPECT_LT(p.gpu_kinds[1].mean.busy(), p.gpu_kinds[0].mean.busy());
    // 312 and 989.4 TFLOP/s: the mean over as many of each
    EXPECT_NEAR(p.model_flops_per_gpu / p.mfu, (312e12 + 989.4e12) / 2, 1e6);
}

/// Where both kinds share a stage, the fast ranks wait in the gradients' collectives, which is no host time.
TEST(MixedStep, FastRanksOfAStageWaitForTheSlow) {
    const Prediction p = quick(small_scenario(R"({
        "model": {"hidden_size": 2048},
        "cluster": {"preset": "dgx-a100", "nodes": 1, "more_nodes": ["1 x H100"]},
        "strategy": {"tensor": 8, "pipeline": 1, "data": 2},
        "training": {"micro_batch_size": 4, "seq_length": 2048, "global_batch_size": 64, "cuda_graph": true}})"));
    ASSERT_EQ(p.gpu_kinds.size(), 2U);
    const Breakdown &slow = p.gpu_kinds[0].mean, &fast = p.gpu_kinds[1].mean;
    EXPECT_LT(slow.bubble, 0.01 * p.step_time_s);
    EXPECT_GT(fast.bubble, 0.2 * p.step_time_s);
    EXPECT_NEAR(fast.launch, slow.launch, 0.01 * p.step_time_s);
    const auto says = [](const std::string& line) { return line.find("H100-SXM5-80GB ranks compute") == 0; };
    EXPECT_TRUE(std::ranges::any_of(p.warnings, says));
}

TEST(MixedStep, AStageHoldsWhatItsSmallestGpuHolds) {
    const Prediction p = quick(small_scenario(R"({
        "cluster": {"preset": "dgx-a100", "gpu": "A100-80GB", "nodes": 2, "more_nodes": ["2 x A100-40GB"]},
        "strategy": {"tensor": 2, "pipeline": 2, "data": 8}})"));
    EXPECT_EQ(p.capacity(0), 80ULL << 30U);
    EXPECT_EQ(p.capacity(1), 40ULL << 30U);
    EXPECT_EQ(p.memory_capacity, 40ULL << 30U);
    EXPECT_TRUE(p.fits);
    EXPECT_EQ(p.profile, "a100") << "one chip, one profile";
    EXPECT_EQ(p.gpu_kinds.size(), 2U);
}

/// A plan that only the larger GPUs could hold does not fit, whichever stage needs more.
TEST(MixedStep, DoesNotFitWhereTheSmallGpusOverflow) {
    const auto fits = [](const char* more) {
        nlohmann::json patch = nlohmann::json::parse(R"({"model": {"hidden_size": 4096, "num_attention_heads": 32},
            "cluster": {"preset": "dgx-a100", "gpu": "A100-80GB", "nodes": 1},
            "strategy": {"tensor": 1, "pipeline": 2, "data": 8},
            "training": {"seq_length": 4096, "micro_batch_size": 10, "global_batch_size": 160}})");
        patch["cluster"]["more_nodes"] = {more};
        return quick(small_scenario(patch.dump()));
    };
    const Prediction small = fits("1 x A100-40GB"), large = fits("1 x A100-80GB");
    ASSERT_GT(large.memory[1].peak, 40ULL << 30U);
    EXPECT_TRUE(large.fits);
    EXPECT_FALSE(small.fits);
}

TEST(MixedStep, AnotherProfileMayStandForAGpusOwn) {
    scenarios::Scenario scenario = small_scenario(R"({"cluster": {"preset": "dgx-1v", "nodes": 1,
        "more_nodes": ["1 x H20"]}, "strategy": {"tensor": 1, "pipeline": 1, "data": 16},
        "training": {"precision": "fp16", "fused_attention": false}})");
    const double own = quick(scenario).step_time_s;
    scenario.more_profiles["H20-SXM-96GB"] = "h200";
    EXPECT_LT(quick(scenario).step_time_s, own + 1e-12) << "V100s are the slower ones";
    scenario.more_profiles["H20-SXM-96GB"] = "p100";
    EXPECT_GT(quick(scenario).step_time_s, own);
}

}  // namespace
}  // namespace orrery::sim
