// What DeepSpeed's hooks around modules cost the host.
#include "sim/module_hooks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/sim/bench.hpp"

namespace orrery::sim {
namespace {

using hardware::HostProcessor;
using kernels::Gemm;
using kernels::GemmPass;

constexpr HostProcessor host = HostProcessor::xeon_8480c;

strategies::Plan sharded(strategies::FsdpImplementation implementation) {
    strategies::Plan plan;
    plan.strategy.sharding = strategies::Sharding::zero3;
    plan.strategy.full_sharding.implementation = implementation;
    plan.training.software = hardware::Software::pytorch;
    return plan;
}

Gemm product(GemmPass pass, std::uint32_t batch = 1) {
    return {.dtype = kernels::Dtype::bf16, .batch = batch, .m = 512, .n = 512, .k = 512, .pass = pass};
}

TEST(ModuleHooks, AreAroundLinearLayersUnderDeepSpeedAlone) {
    using enum strategies::FsdpImplementation;
    const strategies::Plan plan = sharded(deepspeed);
    const auto seconds = [&](const kernels::Kernel& kernel) { return hook_seconds(kernel, plan, host); };
    EXPECT_EQ(seconds(product(GemmPass::forward)), hardware::zero3_visit_seconds(host));
    EXPECT_EQ(seconds(product(GemmPass::data_gradient)), hardware::zero3_visit_seconds(host));
    EXPECT_EQ(seconds(product(GemmPass::weight_gradient)), hardware::zero3_bucket_seconds(host));
    EXPECT_EQ(seconds(product(GemmPass::forward, 16)), 0) << "scores of 16 heads";
    EXPECT_EQ(seconds(kernels::Pointwise{kernels::PointwiseKind::add, kernels::Dtype::bf16, 512, 512}), 0);
    for (const auto other : {megatron_fsdp, fsdp1, fsdp2})
        EXPECT_EQ(hook_seconds(product(GemmPass::forward), sharded(other), host), 0);
    strategies::Plan graph = plan;
    graph.training.cuda_graph = true;
    EXPECT_EQ(hook_seconds(product(GemmPass::forward), graph, host), 0) << "which holds kernels alone";
    strategies::Plan second = plan;
    second.strategy.sharding = strategies::Sharding::zero2;
    EXPECT_EQ(hook_seconds(product(GemmPass::forward), second, host), 0);
}

TEST(ModuleHooks, ExpertsOfARankAreOneModule) {
    strategies::Plan plan = sharded(strategies::FsdpImplementation::deepspeed);
    plan.model.experts = 64;
    plan.strategy.expert = 8;
    EXPECT_EQ(hook_seconds(product(GemmPass::forward, 8), plan, host), hardware::zero3_visit_seconds(host));
    EXPECT_EQ(hook_seconds(product(GemmPass::forward, 16), plan, host), 0);
}

/// Where the device has little to do, a step waits for them: two visits and a bucket for each linear layer.
TEST(ModuleHooks, OfShortSequencesAreWaitedFor) {
    const auto step = [](const char* implementation) {
        return quick(small_scenario(fmt::format(R"({{"cluster": {{"nodes": 1}},
            "strategy": {{"tensor": 1, "pipeline": 1, "data": 8, "sharding": "zero3", "fsdp_implementation": "{}"}},
            "training": {{"software": "pytorch", "seq_length": 64, "micro_batch_size": 1, "global_batch_size": 8}}}})",
                                                implementation)));
    };
    const Prediction hooked = step("deepspeed"), plain = step("fsdp1");
    EXPECT_GT(hooked.stages.front().launch, plain.stages.front().launch);
    EXPECT_GT(hooked.step_time_s, plain.step_time_s);
}

}  // namespace
}  // namespace orrery::sim
