// What frameworks copy beside zero3's collectives.
#include "strategies/shard_copies.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "base/error.hpp"
#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Dtype;

Plan sharded(FsdpImplementation implementation) {
    Plan plan = tiny_plan(1, 1, 4);
    plan.model.tied_embeddings = false;
    plan.model.vocab = 64;
    plan.training.precision.grad_reduce = Dtype::fp32;
    plan.strategy.sharding = Sharding::zero3;
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.bucket_bytes = 1;
    plan.strategy.full_sharding.implementation = implementation;
    return plan;
}

/// Bytes that kernels of a name move, those of gathers and of scatters by what they carry.
std::map<std::string, std::uint64_t> moved(const Plan& plan, Lane lane) {
    std::map<std::string, std::uint64_t> bytes;
    const StepProgram step = build(plan);
    EXPECT_EQ(verify(step), std::vector<std::string>{});
    for (const Op& op : step.programs.front().ops) {
        if (op.lane != lane) continue;
        const std::string& name = step.names[op.label.name];
        if (const auto* kernel = std::get_if<Compute>(&op.what))
            bytes[name] += static_cast<std::uint64_t>(kernels::bytes(step.kernels[kernel->kernel]));
        if (const auto* collective = std::get_if<Collective>(&op.what)) bytes[name] += collective->bytes;
    }
    return bytes;
}

/// fully_shard: every gather is copied to its parameters by the layers' stream, read and written once, and gradients in
/// 16 bits to what is scattered in fp32.
TEST(ShardCopies, Fsdp2CopiesOnTheLayersStream) {
    const Plan plan = sharded(FsdpImplementation::fsdp2);
    auto beside = moved(plan, Lane::data), here = moved(plan, Lane::compute);
    EXPECT_EQ(here["copy gathered weights"], 2 * beside["gather weights"]);
    EXPECT_EQ(here["copy gradients"], beside["gradient reduction"] / 4 * 6);
    EXPECT_FALSE(beside.contains("copy gradients"));
}

/// A lone rank's weights in host memory are gathered from nobody.
TEST(ShardCopies, ALoneRankCopiesNothingOut) {
    Plan plan = sharded(FsdpImplementation::fsdp2);
    plan.strategy.param_device = OffloadDevice::cpu;
    const auto copied = [&] { return moved(plan, Lane::compute).contains("copy gathered weights"); };
    EXPECT_TRUE(copied());
    plan.strategy.data = 1;
    EXPECT_FALSE(copied());
}

/// A flat parameter's views need no copy; its gradient is joined, cast, and divided where it is.
TEST(ShardCopies, Fsdp1JoinsCastsAndDividesGradients) {
    const Plan plan = sharded(FsdpImplementation::fsdp1);
    auto beside = moved(plan, Lane::data), here = moved(plan, Lane::compute);
    EXPECT_FALSE(here.contains("copy gathered weights") || beside.contains("copy gathered weights"));
    const std::uint64_t numbers = beside["gradient reduction"] / 4;
    EXPECT_EQ(here["copy gradients"], numbers * 4);
    EXPECT_EQ(beside["copy gradients"], numbers * 6);
    EXPECT_EQ(beside["divide gradients"], numbers * 8);
}

TEST(ShardCopies, DeepSpeedCopiesOnTheStreamsOfItsCollectives) {
    Plan plan = sharded(FsdpImplementation::deepspeed);
    plan.training.precision.grad_reduce = Dtype::bf16;
    auto beside = moved(plan, Lane::data), here = moved(plan, Lane::compute);
    EXPECT_EQ(beside["copy gathered weights"], 2 * beside["gather weights"]);
    EXPECT_EQ(beside["copy gradients"], beside["gradient reduction"] / 2 * 8);
    EXPECT_EQ(beside["divide gradients"], beside["gradient reduction"] / 2 * 4);
    EXPECT_FALSE(here.contains("copy gradients") || here.contains("copy gathered weights"));
}

/// What a backward's products write is what leaves, unless sums of all micro-batches do.
TEST(ShardCopies, NothingIsAddedToGradientsThatLeave) {
    Plan plan = sharded(FsdpImplementation::fsdp2);
    plan.training.gradient_accumulation_fusion = false;
    EXPECT_FALSE(adds_apart(plan) || adds_inside(plan));
    const std::uint64_t apart = memory(build(plan), 0).at_peak[static_cast<std::size_t>(Keep::gradient)];
    plan.strategy.gradient_syncs = GradientSyncs::step;
    EXPECT_TRUE(adds_apart(plan));
    EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
    EXPECT_GT(memory(build(plan), 0).at_peak[static_cast<std::size_t>(Keep::gradient)], apart);
    plan.training.gradient_accumulation_fusion = true;
    EXPECT_TRUE(adds_inside(plan));
}

TEST(ShardCopies, WhatStaysIsCopiedOnce) {
    Plan plan = sharded(FsdpImplementation::fsdp2);
    const std::uint64_t twice = moved(plan, Lane::compute)["copy gathered weights"];
    plan.strategy.full_sharding.reshard_after_forward = false;
    EXPECT_LT(moved(plan, Lane::compute)["copy gathered weights"], twice);
    EXPECT_EQ(moved(plan, Lane::compute)["copy gathered weights"], 2 * moved(plan, Lane::data)["gather weights"]);
}

/// Products of narrow formats leave gradients of 16 bits.
TEST(ShardCopies, GradientsOfNarrowProductsHaveSixteenBits) {
    Plan plan = sharded(FsdpImplementation::fsdp2);
    const std::uint64_t half = moved(plan, Lane::compute)["copy gradients"];
    plan.training.precision.compute = Dtype::fp8;
    EXPECT_EQ(moved(plan, Lane::compute)["copy gradients"], half);
}

/// What the root has is used again at once, and not given back: norm and head, in FSDP1 the embedding too.
TEST(ShardCopies, TheRootsWeightsStay) {
    const auto gathered = [](FsdpImplementation implementation) {
        return moved(sharded(implementation), Lane::data)["gather weights"];
    };
    const std::uint64_t all = gathered(FsdpImplementation::megatron_fsdp), two = gathered(FsdpImplementation::fsdp2);
    EXPECT_LT(two, all);
    EXPECT_LT(gathered(FsdpImplementation::fsdp1), two);
    EXPECT_EQ(gathered(FsdpImplementation::deepspeed), two);
}

/// PyTorch's all_reduce_stream: sums over groups run beside gathers and scatters, but for Megatron-LM's one stream.
TEST(ShardCopies, SumsOverGroupsHaveALaneOfTheirOwn) {
    Plan plan = sharded(FsdpImplementation::fsdp2);
    plan.strategy.optimizer_instances = 2;
    const std::uint64_t over_groups = moved(plan, Lane::replicas)["gradient reduction"];
    EXPECT_EQ(2 * over_groups, moved(plan, Lane::data)["gradient reduction"]) << "parts over two ranks";
    plan.strategy.full_sharding = {};
    plan.strategy.sharding = Sharding::zero1;
    EXPECT_TRUE(moved(plan, Lane::replicas).empty());
}

/// Of tied words both ends of a pipeline have the sums of their own shares.
TEST(ShardCopies, EndsExchangeSharesOfTiedWords) {
    const auto exchanged = [](Sharding sharding) {
        Plan plan = tiny_plan(1, 2, 4);
        plan.strategy.sharding = sharding;
        const StepProgram step = build(plan);
        for (const Op& op : step.programs.front().ops)
            if (const auto* send = std::get_if<Send>(&op.what);
                send != nullptr && step.names[op.label.name] == "embedding gradient exchange")
                return send->bytes;
        return std::uint64_t{0};
    };
    EXPECT_GT(exchanged(Sharding::zero1), 0U);
    EXPECT_EQ(exchanged(Sharding::zero1), 4 * exchanged(Sharding::zero3));
    EXPECT_EQ(exchanged(Sharding::zero2), exchanged(Sharding::zero3));
}

TEST(ShardCopies, GoWithWhatTheirCodeHas) {
    const auto pointer = [](FsdpImplementation implementation, const std::function<void(Plan&)>& change) {
        Plan plan = sharded(implementation);
        change(plan);
        try {
            validate(plan);
        } catch (const Error& error) {
            return error.pointer();
        }
        return std::string();
    };
    const std::string key = "/strategy/fsdp_implementation";
    const auto quantized = [](Plan& p) { p.strategy.quantized_weights = true; };
    EXPECT_EQ(pointer(FsdpImplementation::fsdp2, [](Plan& p) { p.strategy.sharding = Sharding::zero2; }), key);
    EXPECT_EQ(pointer(FsdpImplementation::fsdp2, quantized), key);
    EXPECT_EQ(pointer(FsdpImplementation::deepspeed, quantized), "");
}

}  // namespace
}  // namespace orrery::strategies
