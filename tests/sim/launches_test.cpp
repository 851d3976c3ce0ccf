// Products of a rank's experts that the host launches one after the other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "hardware/gpu.hpp"
#include "hardware/host_time.hpp"
#include "sim/costs.hpp"
#include "strategies/build.hpp"
#include "tests/sim/bench.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {
namespace {

/// Many small experts on one rank: their parts of a product are shorter than its launches.
scenarios::Scenario experts(const char* software, const char* graph = "false") {
    return small_scenario(fmt::format(
        R"({{"cluster": {{"nodes": 1}},
             "model": {{"num_experts": 64, "num_experts_per_tok": 2, "moe_intermediate_size": 256}},
             "strategy": {{"tensor": 1, "pipeline": 1, "data": 8}},
             "training": {{"software": "{}", "cuda_graph": {}}}}})",
        software, graph));
}

TEST(Launches, OfEachExpertCostTheHostTime) {
    const Prediction looped = quick(experts("megatron-lm"));
    const Breakdown& parts = looped.stages.front();
    EXPECT_NEAR(parts.total(), looped.step_time_s, 1e-9 * looped.step_time_s);
    EXPECT_GT(parts.launch, quick(experts("tensorflow")).stages.front().launch);
    EXPECT_NEAR(quick(experts("megatron-lm", "true")).stages.front().launch, 0, 1e-4 * looped.step_time_s)
        << "a graph launches them itself";
}

TEST(Launches, TheLastExpertEndsItsPartBehindThem) {
    const scenarios::Scenario scenario = experts("megatron-lm");
    const topology::Cluster cluster = topology::build(scenario.cluster);
    const calibrate::Predictor& predictor = profiles().find("a100");
    const Network network(cluster, predictor);
    const strategies::StepProgram step = strategies::unrolled(strategies::build(scenario.plan));
    const Costs costs(step, scenario.plan, cluster.gpu(), predictor, network);
    const double launch = predictor.constant("launch_seconds");
    std::size_t grouped = 0;
    for (const strategies::Op& op : step.programs.front().ops) {
        const auto* compute = std::get_if<strategies::Compute>(&op.what);
        if (compute == nullptr || !op.label.routed || costs.kernels()[compute->kernel].launches.parts == 1) continue;
        ++grouped;
        const HandOut host = costs.hand_out(op);
        EXPECT_DOUBLE_EQ(host.all - host.first, 63 * launch);
        EXPECT_DOUBLE_EQ(host.soonest_end(64e-9, 0), host.all + 1e-9);
        EXPECT_DOUBLE_EQ(host.soonest_end(1, 0), host.first + 1) << "a long one hides them";
    }
    EXPECT_GT(grouped, 0U);
}

TEST(Launches, OfTransformerEngineTakeATurnOfItsLoopEach) {
    constexpr double launch = 6e-6, turn = 28.3e-6, python = 3.3e-3 / 64 / 6;
    const kernels::Gemm products{kernels::Dtype::bf16, 64, 512, 512, 512};
    const kernels::Pointwise add{kernels::PointwiseKind::add, kernels::Dtype::bf16, 512, 512};
    const auto plan = [](const char* software) { return experts(software).plan; };
    constexpr auto grace = hardware::HostProcessor::grace, xeon = hardware::HostProcessor::xeon_8480c;
    const Launches engine = launches_of(products, plan("transformer-engine"), grace, launch);
    EXPECT_EQ(engine.parts, 64U);
    EXPECT_NEAR(engine.further, turn + python, 1e-7);
    EXPECT_LT(launches_of(products, plan("transformer-engine"), xeon, launch).further, turn + 0.9 * python);
    EXPECT_EQ(launches_of(products, plan("megatron-lm"), grace, launch), (Launches{64, launch}));
    for (const char* software : {"tensorflow", "orrery"})
        EXPECT_EQ(launches_of(products, plan(software), grace, launch), Launches{}) << software;
    EXPECT_EQ(launches_of(add, plan("transformer-engine"), grace, launch), Launches{});
}

}  // namespace
}  // namespace orrery::sim
