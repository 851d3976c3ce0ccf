#include "sim/breakdown.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

void expect_adds_up(const Prediction& p) {
    for (std::size_t stage = 0; stage < p.stages.size(); ++stage) {
        const Breakdown& b = p.stages[stage];
        EXPECT_NEAR(b.total(), p.step_time_s, 1e-9 * p.step_time_s) << "stage " << stage;
        for (const double part : {b.gemm, b.attention, b.memory_bound, b.tensor_comm, b.pipeline_comm, b.data_comm,
                                  b.optimizer, b.launch, b.bubble})
            EXPECT_GE(part, -1e-12 * p.step_time_s) << "stage " << stage;
    }
}

TEST(Breakdown, AddsUpToTheStep) {
    for (const char* patch :
         {"{}", R"({"strategy": {"recompute": "full", "sequence_parallel": true}})",
          R"({"strategy": {"schedule": "gpipe", "overlap_grad_reduce": true}})",
          R"({"strategy": {"sharding": "zero1", "overlap_grad_reduce": true, "overlap_param_gather": true}})",
          R"({"strategy": {"virtual_pipeline": 2, "overlap_p2p": true}, "training": {"cuda_graph": true}})"}) {
        SCOPED_TRACE(patch);
        const Prediction p = quick(small_scenario(patch));
        ASSERT_EQ(p.stages.size(), 2U);
        expect_adds_up(p);
    }
}

TEST(Breakdown, ShippedScenariosAddUp) {
    for (const char* file : {"llama3-8b-dgx-h100", "gpt2-xl-dgx-2", "gpt-neox-20b-ethernet", "gpt-22b-superpod-h100"}) {
        SCOPED_TRACE(file);
        expect_adds_up(quick(scenarios::load(std::filesystem::path("scenarios") / (std::string(file) + ".json"))));
    }
}

TEST(Breakdown, OneGpuCommunicatesNothing) {
    const Prediction p =
        quick(small_scenario(R"({"cluster": {"nodes": 1}, "strategy": {"tensor": 1, "pipeline": 1, "data": 1}})"));
    const Breakdown& b = p.stages.front();
    for (const double part : {b.tensor_comm, b.pipeline_comm, b.data_comm}) EXPECT_NEAR(part, 0, 1e-12 * p.step_time_s);
    EXPECT_NEAR(b.bubble, 0, 1e-4 * p.step_time_s);
    EXPECT_GT(b.gemm, 0);
    EXPECT_GT(b.optimizer, 0);
}

TEST(Breakdown, EveryKindOfParallelismShows) {
    const Prediction p = quick(small_scenario());
    for (const Breakdown& b : p.stages) {
        EXPECT_GT(b.tensor_comm, 0);
        EXPECT_GT(b.pipeline_comm, 0);
        EXPECT_GT(b.data_comm, 0);
        EXPECT_GT(b.bubble, 0);
    }
}

/// GPipe's bubble is (p - 1) / (m + p - 1) of a step with equal stages: more micro-batches, less of it.
TEST(Breakdown, MoreMicroBatchesLessBubble) {
    double before = 1;
    for (const std::uint32_t micro_batches : {2U, 8U, 32U}) {
        const Prediction p = quick(small_scenario(R"({"training": {"cuda_graph": true, "global_batch_size": )" +
                                                  std::to_string(4 * micro_batches) + "}}"));
        const double share = (p.stages[0].bubble + p.stages[1].bubble) / 2 / p.step_time_s;
        EXPECT_LT(share, before);
        before = share;
    }
}

/// Launches bind small kernels; replaying a graph lifts that.
TEST(Breakdown, CudaGraphsTakeTheLaunchesAway) {
    const Prediction eager = quick(small_scenario()),
                     graph = quick(small_scenario(R"({"training": {"cuda_graph": true}})"));
    EXPECT_GT(eager.stages[0].launch, 10 * graph.stages[0].launch);
    EXPECT_LT(graph.step_time_s, eager.step_time_s);
}

TEST(Breakdown, RecomputationShowsInItsKernels) {
    const Prediction none = quick(small_scenario()),
                     full = quick(small_scenario(R"({"strategy": {"recompute": "full"}})"));
    const double more = full.stages[0].gemm / none.stages[0].gemm;
    EXPECT_NEAR(more, 4.0 / 3, 0.1) << "a forward more beside a forward and its twofold backward";
}

}  // namespace
}  // namespace orrery::sim
