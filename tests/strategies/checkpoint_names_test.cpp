// Results that jax.checkpoint keeps by name.
#include "strategies/checkpoint_names.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/checkpoint_policy.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Gemm;

/// Hidden 64, 4 heads of 16 over 2 of keys and values, gated MLP of 192.
Plan named(const std::string& names, models::ModelSpec model = tiny_llama()) {
    Plan plan = tiny_plan();
    plan.model = std::move(model);
    plan.training.fused_attention = true;
    plan.training.software = hardware::Software::tensorflow;
    plan.training.fused_qkv = plan.training.fused_gate = false;
    plan.strategy.recompute = Recompute::full;
    plan.strategy.recompute_early_stop = true;
    plan.strategy.checkpoint_policy = CheckpointPolicy::save_only_these_names;
    plan.strategy.checkpoint_names = names;
    return plan;
}

/// Of the block of a plan: columns of products that run again, whether attention does, and bytes a token that are kept.
struct Found {
    std::uint64_t columns = 0;
    bool attention = false;
    double bytes = 0;
};

Found again(const Plan& plan) {
    const char* const block = plan.model.experts > 0 ? "moe block" : "block";
    const ShardedLayer layer = shard(models::build(plan.model).layer(block), plan);
    const Again how = plan.strategy.again();
    const RunAgain runs = run_again(layer, how.keeps, how.stops_early);
    Found all{.bytes = static_cast<double>(runs.all_kept_bytes()) / static_cast<double>(plan.rank_tokens())};
    for (const auto& works : runs.works)
        for (const Work& work : works) {
            const auto* kernel = std::get_if<kernels::Kernel>(&work.what);
            if (kernel == nullptr) continue;
            if (const auto* gemm = std::get_if<Gemm>(kernel)) all.columns += gemm->n;
            all.attention |= std::holds_alternative<kernels::Attention>(*kernel);
        }
    return all;
}

constexpr std::uint64_t heads = 64 + 2 * 32, out = 64, mlp = 2 * 192, down = 64;

TEST(CheckpointNames, EachLeavesTheOthersToRunAgain) {
    const std::string all_heads = "query_proj,key_proj,value_proj";
    const Found keeps_heads = again(named(all_heads));
    EXPECT_EQ(keeps_heads.columns, out + mlp + down);
    EXPECT_TRUE(keeps_heads.attention);
    EXPECT_EQ(keeps_heads.bytes, 2 * heads);
    const Found keys = again(named("key_proj"));
    EXPECT_EQ(keys.columns, heads - 32 + out + mlp + down);
    EXPECT_EQ(keys.bytes, 2 * 32);
    const Found attention = again(named("context"));
    EXPECT_FALSE(attention.attention);
    EXPECT_EQ(attention.bytes, 2 * 64 + 4 * 4) << "with the log-sum-exps of four heads";
    EXPECT_EQ(attention.columns, heads + out + mlp + down);
    const Found gate = again(named("mlpwi_1 out_proj"));
    EXPECT_EQ(gate.columns, heads + 192 + down);
    EXPECT_EQ(gate.bytes, 2 * (192 + 64));
}

/// The second product of an MLP is needed by nobody, so that it is not kept where a layer stops early.
TEST(CheckpointNames, NothingIsKeptThatNobodyNeeds) {
    EXPECT_EQ(again(named("mlpwo")).bytes, 0);
    Plan whole = named("mlpwo");
    whole.strategy.recompute_early_stop = false;
    EXPECT_EQ(again(whole).bytes, 2 * down);
}

/// Rotation runs again with what it rotates; a norm of queries and keys needs what it was given.
TEST(CheckpointNames, RotationRunsWithWhatItRotates) {
    const auto rotated = [](const Plan& plan) {
        const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
        const RunAgain runs = run_again(layer, plan.strategy.again().keeps, true);
        for (std::size_t i = 0; i < layer.pieces.size(); ++i)
            if (layer.pieces[i].name == "rope") return !runs.works[i].empty();
        return false;
    };
    EXPECT_TRUE(rotated(named("key_proj")));
    EXPECT_FALSE(rotated(named("query_proj,key_proj")));
    models::ModelSpec norms = tiny_llama();
    norms.qk_norm = true;
    const Plan plan = named("query_proj,key_proj,value_proj", norms);
    EXPECT_TRUE(rotated(plan));
    EXPECT_EQ(again(plan).columns, heads - 32 + out + mlp + down) << "values alone do not run again";
    EXPECT_EQ(again(plan).bytes, 2 * heads);
}

/// Two products as one are kept where both names are.
TEST(CheckpointNames, AProductIsKeptWhereAllItsNamesAre) {
    Plan joined = named("mlpwi_0");
    joined.training.fused_gate = joined.training.fused_qkv = true;
    EXPECT_EQ(again(joined).bytes, 0);
    joined.strategy.checkpoint_names = "mlpwi_0,mlpwi_1";
    EXPECT_EQ(again(joined).bytes, 2 * mlp);
    EXPECT_EQ(again(joined).columns, heads + out + down);
}

/// What tensor ranks scatter of a sum is what is kept of it, and is not summed again.
TEST(CheckpointNames, KeepsTheShareOfASum) {
    Plan plan = named("out_proj");
    plan.strategy.tensor = 2;
    plan.strategy.sequence_parallel = true;
    EXPECT_EQ(again(plan).bytes, 2 * 64 / 2);
    const auto scattered = [&](const std::string& names) {
        plan.strategy.checkpoint_names = names;
        EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
        std::size_t sums = 0;
        const ShardedLayer layer = shard(models::build(plan.model).layer("block"), plan);
        for (const auto& works : run_again(layer, plan.strategy.again().keeps, true).works)
            for (const Work& work : works)
                if (const auto* collective = std::get_if<LayerCollective>(&work.what))
                    sums += collective->kind == kernels::CollectiveKind::reduce_scatter;
        return sums;
    };
    EXPECT_EQ(scattered("out_proj") + 1, scattered("query_proj"));
}

/// More that is kept takes more memory and no more time.
TEST(CheckpointNames, KeepingMoreRunsLess) {
    double flops = std::numeric_limits<double>::infinity();
    std::uint64_t bytes = 0;
    std::string names = "query_proj";
    for (const char* next : {"key_proj", "value_proj", "context", "out_proj", "mlpwi_0", "mlpwi_1"}) {
        const Plan plan = named(names);
        ASSERT_EQ(refused_at(plan), "accepted");
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        EXPECT_LE(kernel_flops(step), flops) << names;
        const std::uint64_t peak = memory(step, 0).peak;
        EXPECT_GE(peak, bytes) << names;
        flops = kernel_flops(step);
        bytes = peak;
        names += std::string(",") + next;
    }
}

TEST(CheckpointNames, LatentAttentionAndExpertsHaveTheirs) {
    const Plan latent = named("kv_wa_proj,query_wa_proj,value_proj,key_proj", latent_llama());
    EXPECT_EQ(refused_at(latent), "accepted");
    EXPECT_GT(again(latent).bytes, 0);
    EXPECT_LT(again(latent).columns, again(named("context", latent_llama())).columns);
    Plan experts = moe_plan();
    const Plan names = named("moe_mlpwi_0,moe_mlpwi_1");
    experts.training.software = names.training.software;
    experts.strategy.recompute = Recompute::full;
    experts.strategy.checkpoint_policy = names.strategy.checkpoint_policy;
    experts.strategy.checkpoint_names = names.strategy.checkpoint_names;
    EXPECT_EQ(refused_at(experts), "accepted");
    const Found kept = again(experts);
    experts.strategy.checkpoint_names = "kv_wa_proj";  // which it has not
    EXPECT_EQ(again(experts).bytes, 0);
    EXPECT_LT(kept.columns, again(experts).columns);
    EXPECT_GT(kept.bytes, again(experts).bytes);
}

/// Bytes that all copies of a step send to the host and bring back, a token of a layer; the peak of the device.
struct Copied {
    double out = 0, back = 0;
    std::uint64_t peak = 0, host = 0;
};

Copied copied(const std::string& names) {
    Plan plan = named("query_proj,mlpwi_1,out_proj");
    plan.strategy.cpu_offloading_num_layers = plan.model.layers;
    plan.strategy.offload_names = names;
    EXPECT_EQ(refused_at(plan), "accepted") << names;
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    const StageMemory use = memory(step, 0);
    Copied all{.peak = use.peak, .host = use.host};
    const double tokens = static_cast<double>(plan.rank_tokens()) * plan.model.layers * plan.micro_batches();
    for (const Op& op : step.programs[0].ops)
        if (const auto* copy = std::get_if<Copy>(&op.what))
            (copy->to == Copy::To::host ? all.out : all.back) += static_cast<double>(copy->bytes) / tokens;
    return all;
}

/// Of what offloaded layers keep, what is named leaves and comes back, and the rest stays where it is.
TEST(CheckpointNames, WhatIsNamedGoesToTheHost) {
    const Copied all = copied(""), input = copied("decoder_layer_input"), heads_alone = copied("query_proj"),
                 two = copied("decoder_layer_input,query_proj");
    EXPECT_EQ(all.out, 2 * (64 + 64 + 192 + 64)) << "all that is kept";
    EXPECT_EQ(input.out, 2 * 64);
    EXPECT_EQ(two.out, input.out + heads_alone.out);
    EXPECT_EQ(copied("decoder_layer_input,query_proj,mlpwi_1,out_proj").out, all.out);
    for (const Copied& each : {all, input, heads_alone, two}) EXPECT_EQ(each.back, each.out);
    EXPECT_LT(all.peak, two.peak);
    EXPECT_LT(two.peak, input.peak);
    EXPECT_LT(input.host, two.host);
}

TEST(CheckpointNames, WhatGoesToTheHostIsKept) {
    const std::string key = "/strategy/offload_names";
    Plan plan = named("query_proj");
    plan.strategy.offload_names = "query_proj";
    EXPECT_EQ(refused_at(plan), key) << "no layer is offloaded";
    plan.strategy.cpu_offloading_num_layers = plan.model.layers;
    EXPECT_EQ(refused_at(plan), "accepted");
    plan.strategy.offload_names = "key_proj";
    EXPECT_EQ(refused_at(plan), key) << "is not kept";
    plan.strategy.offload_names = "decoder_layer_input";
    plan.strategy.checkpoint_policy = CheckpointPolicy::nothing;
    plan.strategy.checkpoint_names.clear();
    EXPECT_EQ(refused_at(plan), "accepted") << "a plain checkpoint's";
    plan.training.software = hardware::Software::pytorch;
    EXPECT_EQ(refused_at(plan), key);
}

TEST(CheckpointNames, AreRefusedWhereTheySayNothing) {
    const std::string key = "/strategy/checkpoint_names";
    EXPECT_EQ(refused_at(named("")), key);
    EXPECT_EQ(refused_at(named("query")), key);
    Plan other = named("query_proj");
    other.strategy.checkpoint_policy = CheckpointPolicy::nothing;
    EXPECT_EQ(refused_at(other), key);
    other = named("query_proj");
    other.training.software = hardware::Software::pytorch;
    EXPECT_EQ(refused_at(other), "/strategy/checkpoint_policy");
    other = named("query_proj");
    other.strategy.recompute = Recompute::none;
    other.strategy.recompute_early_stop = false;
    EXPECT_EQ(refused_at(other), "/strategy/checkpoint_policy");
}

}  // namespace
}  // namespace orrery::strategies
