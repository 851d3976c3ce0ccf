// Results that layers keep though their backward runs them again: TorchTitan's selective checkpoints by operators.
#include "strategies/checkpoint_policy.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Gemm;

Plan llama(CheckpointPolicy policy, Recompute recompute = Recompute::full) {
    Plan plan = tiny_plan();
    plan.model = tiny_llama();
    plan.training.fused_attention = true;
    plan.training.software = hardware::Software::pytorch;
    plan.training.fused_qkv = plan.training.fused_gate = false;
    plan.strategy.recompute = recompute;
    plan.strategy.checkpoint_policy = policy;
    return plan;
}

ShardedLayer block(const Plan& plan) { return shard(models::build(plan.model).layer("block"), plan); }

/// Outputs of products among these works, and whether attention is.
struct Found {
    std::uint64_t outputs = 0;
    bool attention = false;
};

Found found(const std::vector<Work>& works) {
    Found all;
    for (const Work& work : works) {
        const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
        if (kernel == nullptr) continue;
        if (const auto* gemm = std::get_if<Gemm>(kernel)) all.outputs += gemm->n;
        all.attention |= std::holds_alternative<kernels::Attention>(*kernel);
    }
    return all;
}

/// Hidden 64, 4 heads of 16 over 2 of keys and values, gated MLP of 192: queries, values, gate and down are kept, keys,
/// projection and up run again.
TEST(CheckpointPolicy, KeepsTheFirstOfEachTwoProducts) {
    const Plan plan = llama(CheckpointPolicy::every_second_mm);
    const ShardedLayer layer = block(plan);
    const RunAgain again = run_again(layer, CheckpointPolicy::every_second_mm);
    std::uint64_t outputs = 0;
    bool attention = false;
    for (const auto& works : again.works) {
        outputs += found(works).outputs;
        attention |= found(works).attention;
    }
    EXPECT_EQ(outputs, 32U + 64U + 192U);
    EXPECT_FALSE(attention);
    const std::uint64_t tokens = plan.rank_tokens();
    EXPECT_EQ(again.all_kept_bytes(), tokens * 2 * (64 + 32 + 192 + 64) + tokens * (64 * 2 + 4 * 4))
        << "products, and attention's results with their log-sum-exps";
}

TEST(CheckpointPolicy, OfNothingRunsEverythingAgain) {
    const ShardedLayer layer = block(llama(CheckpointPolicy::nothing));
    const RunAgain again = run_again(layer, CheckpointPolicy::nothing);
    EXPECT_EQ(again.all_kept_bytes(), 0U);
    for (std::size_t i = 0; i < layer.pieces.size(); ++i)
        EXPECT_EQ(again.works[i].size(), layer.pieces[i].forward.size());
}

/// As one product queries, keys and values are kept, as is the gated layer; the projections run again.
TEST(CheckpointPolicy, CountsProductsAsTheModelHasThem) {
    Plan plan = llama(CheckpointPolicy::every_second_mm);
    plan.training.fused_qkv = plan.training.fused_gate = true;
    const RunAgain again = run_again(block(plan), CheckpointPolicy::every_second_mm);
    std::uint64_t outputs = 0;
    for (const auto& works : again.works) outputs += found(works).outputs;
    EXPECT_EQ(outputs, 64U + 64U);
}

/// torchao's products of fp8 are torch.mm of its tensors, and leave 16 bits.
TEST(CheckpointPolicy, KeepsResultsOfNarrowProducts) {
    Plan narrow = llama(CheckpointPolicy::every_second_mm);
    narrow.training.precision.compute = kernels::Dtype::fp8;
    narrow.training.fp8_recipe = Fp8Recipe::tensorwise;
    const auto kept = [](const Plan& plan) {
        return run_again(block(plan), CheckpointPolicy::every_second_mm).all_kept_bytes();
    };
    EXPECT_EQ(kept(narrow), kept(llama(CheckpointPolicy::every_second_mm)));
    EXPECT_EQ(verify(build(narrow)), std::vector<std::string>{});
}

/// Products in parts, beside what tensor ranks exchange, are kept or run again whole.
TEST(CheckpointPolicy, TakesAllPartsOfAProduct) {
    const auto again = [](bool overlapped) {
        Plan plan = llama(CheckpointPolicy::every_second_mm);
        plan.strategy.tensor = 2;
        plan.strategy.sequence_parallel = true;
        plan.strategy.tensor_comm_overlap = overlapped;
        double flops = 0;
        for (const auto& works : run_again(block(plan), CheckpointPolicy::every_second_mm).works)
            for (const Work& work : works)
                if (const auto* kernel = std::get_if<kernels::Kernel>(&work.what)) flops += kernels::flops(*kernel);
        return flops;
    };
    EXPECT_GT(again(false), 0);
    EXPECT_EQ(again(true), again(false));
}

TEST(CheckpointPolicy, BiasesAreNotAmongItsOperators) {
    Plan gpt = llama(CheckpointPolicy::every_second_mm);
    gpt.model = tiny_gpt();
    const ShardedLayer biased = block(gpt);
    EXPECT_EQ(run_again(biased, CheckpointPolicy::every_second_mm).all_kept_bytes(),
              biased.pieces.empty() ? 0 : gpt.rank_tokens() * (64 * 2 + 4 * 4))
        << "attention alone";
}

TEST(CheckpointPolicy, LiesBetweenAllAndNothing) {
    const auto peak = [](const Plan& plan) {
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        return memory(step, 0).peak;
    };
    const Plan full = llama(CheckpointPolicy::nothing), policy = llama(CheckpointPolicy::every_second_mm),
               none = llama(CheckpointPolicy::nothing, Recompute::none);
    EXPECT_LT(kernel_flops(build(policy)), kernel_flops(build(full)));
    EXPECT_GT(kernel_flops(build(policy)), kernel_flops(build(none)));
    EXPECT_GT(peak(policy), peak(full));
    EXPECT_LT(peak(policy), peak(none));
}

/// A sum that tensor ranks scatter is kept, what they gather is gathered again.
TEST(CheckpointPolicy, KeepsScatteredSums) {
    Plan plan = llama(CheckpointPolicy::every_second_mm);
    plan.strategy.tensor = 2;
    plan.strategy.sequence_parallel = true;
    const ShardedLayer layer = block(plan);
    const RunAgain again = run_again(layer, CheckpointPolicy::every_second_mm);
    const auto count = [](const auto& pieces, kernels::CollectiveKind kind) {
        std::size_t sum = 0;
        for (const auto& works : pieces)
            for (const Work& work : works)
                if (const auto* collective = std::get_if<LayerCollective>(&work.what)) sum += collective->kind == kind;
        return sum;
    };
    EXPECT_EQ(count(again.works, kernels::CollectiveKind::reduce_scatter), 0U);
    EXPECT_EQ(count(again.works, kernels::CollectiveKind::all_gather), 2U);
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
}

/// The product behind a kept sum has no other use: torch.compile leaves it out, eager operators run it again.
TEST(CheckpointPolicy, CompiledProductsBehindKeptSumsDoNotRunAgain) {
    Plan plan = llama(CheckpointPolicy::every_second_mm);
    plan.strategy.tensor = 2;
    plan.strategy.sequence_parallel = plan.strategy.batch_first = true;
    const auto outputs = [](const Plan& of) {
        std::uint64_t sum = 0;
        for (const auto& works : run_again(block(of), CheckpointPolicy::every_second_mm).works)
            sum += found(works).outputs;
        return sum;
    };
    Plan eager = plan;
    eager.training.kernel_fusion = KernelFusion::operators;
    EXPECT_EQ(outputs(eager) - outputs(plan), 64U) << "the projection's";
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    EXPECT_EQ(verify(build(eager)), std::vector<std::string>{});
}

/// TorchTitan's policy counts the products of attention; the router's it runs again
/// (per_op_sac_force_recompute_mm_shapes_ by_fqns), as it does the experts' grouped ones, which are no torch.mm, and
/// their exchanges.
TEST(CheckpointPolicy, RoutersAndExpertsRunAgain) {
    Plan plan = moe_plan();
    plan.training.fused_attention = true;
    plan.training.software = hardware::Software::pytorch;
    plan.strategy.recompute = Recompute::full;
    plan.strategy.checkpoint_policy = CheckpointPolicy::every_second_mm;
    plan.training.fused_qkv = plan.training.fused_gate = false;
    const ShardedLayer layer = shard(models::build(plan.model).layer("moe block"), plan);
    const RunAgain again = run_again(layer, CheckpointPolicy::every_second_mm);
    const std::uint64_t tokens = plan.rank_tokens();
    EXPECT_EQ(again.all_kept_bytes(), tokens * 2 * (64 + 32) + tokens * (64 * 2 + 4 * 4))
        << "queries, values and attention's results";
    for (std::size_t i = 0; i < layer.pieces.size(); ++i) {
        if (!layer.pieces[i].results.products.empty()) continue;
        EXPECT_EQ(found(again.works[i]).outputs, found(layer.pieces[i].forward).outputs) << layer.pieces[i].name;
    }
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
}

TEST(CheckpointPolicy, IsRefusedWhereItWouldSayNothing) {
    const std::string key = "/strategy/checkpoint_policy";
    Plan latent = llama(CheckpointPolicy::every_second_mm);
    latent.model = latent_llama();
    EXPECT_EQ(refused_at(latent), key);
    EXPECT_EQ(refused_at(llama(CheckpointPolicy::every_second_mm)), "accepted");
    EXPECT_EQ(refused_at(llama(CheckpointPolicy::every_second_mm, Recompute::none)), key);
    EXPECT_EQ(refused_at(llama(CheckpointPolicy::every_second_mm, Recompute::selective)), key);
    Plan other = llama(CheckpointPolicy::every_second_mm);
    other.training.software = hardware::Software::megatron_lm;
    EXPECT_EQ(refused_at(other), key);
}

}  // namespace
}  // namespace orrery::strategies
