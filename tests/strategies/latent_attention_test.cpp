// Attention over latent keys and values, as DeepSeek-V2 has it.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan latent(std::uint32_t tensor = 1) {
    Plan plan = tiny_plan(tensor);
    plan.model = latent_llama();
    plan.model.vocab = 1024;
    plan.strategy.sequence_parallel = tensor > 1;
    return plan;
}

/// Keys have more columns than values, in the backward too.
TEST(LatentAttention, UnfusedComputesThreeForwardPasses) {
    const Plan plan = latent();
    validate(plan);
    const double model = models::model_flops(models::build(plan.model), plan.training.global_batch, plan.training.seq);
    EXPECT_NEAR(kernel_flops(build(plan)) / model, 1, 1e-12);
}

/// Collectives of one layer behind the other run beside products, whoever writes the kernels between them.
TEST(LatentAttention, ProgramsAreSoundUnderSequenceParallelism) {
    for (const KernelFusion fusion : {KernelFusion::full, KernelFusion::operators, KernelFusion::primitives})
        for (const bool fused : {false, true})
            for (const std::uint32_t queries : {0U, 48U}) {
                Plan plan = latent(2);
                plan.model.q_lora_rank = queries;
                plan.training.fused_attention = fused;
                plan.training.kernel_fusion = fusion;
                validate(plan);
                const StepProgram step = build(plan);
                EXPECT_EQ(verify(step), std::vector<std::string>{});
                const auto named = [&](std::string_view name) { return std::ranges::count(step.names, name); };
                EXPECT_EQ(named("gather shared keys"), 1) << static_cast<int>(fusion);
                EXPECT_EQ(named("reduce shared key gradients"), 1) << static_cast<int>(fusion);
            }
}

}  // namespace
}  // namespace orrery::strategies
