// Kernels that frameworks launch around experts: operators of routers, copies that pad.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

#include "strategies/build.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// 31 kernels around a router, 17 where the exchange counts for itself, 72 unfused with groups of experts; two are
/// works of their own. 1.6 launches count as one. A backward has 6, unfused 24.
TEST(ExpertKernels, RoutersHaveOperatorsBesideTheirProductAndGate) {
    Plan plan = moe_plan();
    const auto operators = [&] {
        const StepProgram step = build(plan);
        std::map<Phase, std::ptrdiff_t> most;
        for (const Program& block : step.blocks) {
            std::map<Phase, std::ptrdiff_t> found;
            for (const Op& op : block.ops)
                if (step.names[op.label.name].starts_with("router operators")) {
                    ++found[op.label.phase];
                    EXPECT_TRUE(op.label.plain && !op.label.routed);
                }
            for (const auto& [phase, count] : found) most[phase] = std::max(most[phase], count);
        }
        return most;
    };
    EXPECT_TRUE(operators().empty()) << "counted under Transformer Engine";
    plan.training.software = hardware::Software::transformer_engine;
    const auto both = [](std::ptrdiff_t forward, std::ptrdiff_t backward) {
        return std::map<Phase, std::ptrdiff_t>{{Phase::forward, forward}, {Phase::backward, backward}};
    };
    EXPECT_EQ(operators(), both(18, 4));
    plan.training.router_fusion = false;
    EXPECT_EQ(operators(), both(31, 15)) << "of a softmax without groups 20 fewer";
    plan.model.router_groups = plan.model.router_top_groups = 2;
    EXPECT_EQ(operators(), both(44, 15));
    plan.strategy.dispatcher = Dispatcher::flex;
    EXPECT_EQ(operators(), both(35, 15));
    plan.training.router_fusion = true;
    EXPECT_EQ(operators(), both(9, 4));
}

/// Fp8Padding and Fp8Unpadding around the experts, forward and backward: four copies of all rows.
TEST(ExpertKernels, NarrowProductsHaveTheirRowsPaddedByCopies) {
    Plan plan = moe_plan();
    plan.training.precision.compute = kernels::Dtype::fp8;
    const auto copies = [&] {
        const StepProgram step = build(plan);
        std::map<Phase, double> bytes;
        for (const Program& block : step.blocks)
            for (const Op& op : block.ops)
                if (const auto* compute = std::get_if<Compute>(&op.what);
                    compute != nullptr && step.names[op.label.name].find("pad experts") != std::string::npos)
                    bytes[op.label.phase] += kernels::bytes(step.kernels[compute->kernel]);
        return bytes;
    };
    plan.training.software = hardware::Software::transformer_engine;
    const double moved = 2 * (2 * 256) * 64 * 2;  // two copies of a token, read and written
    EXPECT_DOUBLE_EQ(copies()[Phase::forward], 2 * moved);
    EXPECT_DOUBLE_EQ(copies()[Phase::backward], 2 * moved);
    plan.strategy.dispatcher = Dispatcher::flex;
    EXPECT_TRUE(copies().empty()) << "padded as they are permuted";
    plan.strategy.dispatcher = Dispatcher::alltoall;
    plan.training.expert_capacity = 1.5;
    plan.training.pad_to_capacity = true;
    EXPECT_TRUE(copies().empty()) << "capacities fit";
    plan.training.pad_to_capacity = false;
    plan.training.software = hardware::Software::megatron_lm;
    EXPECT_TRUE(copies().empty());
    plan.training.software = hardware::Software::transformer_engine;
    plan.training.precision.compute = kernels::Dtype::bf16;
    EXPECT_TRUE(copies().empty());
}

}  // namespace
}  // namespace orrery::strategies
