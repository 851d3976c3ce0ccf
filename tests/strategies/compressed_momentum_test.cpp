// 1-bit Adam: what is exchanged instead of gradients, what it keeps, and what it does not go with.
#include "strategies/compressed_momentum.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "strategies/build.hpp"
#include "strategies/hazards.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::CollectiveKind;
using Problems = std::vector<std::string>;

Plan compressing(std::uint32_t tensor = 1, std::uint32_t pipeline = 1, std::uint32_t data = 4) {
    Plan plan = tiny_plan(tensor, pipeline, data);
    plan.training.precision = {.compute = kernels::Dtype::fp16, .grad_reduce = kernels::Dtype::fp16};
    plan.strategy.compression = Compression::onebit_adam;
    return plan;
}

/// Of one stage, collectives on the lane of data ranks: bytes by kind, without single numbers.
std::uint64_t moved(const StepProgram& step, CollectiveKind kind, std::uint32_t role = 0) {
    std::uint64_t bytes = 0;
    for (const Op& op : step.programs[role].ops)
        if (const auto* collective = std::get_if<Collective>(&op.what);
            collective != nullptr && op.lane == Lane::data && collective->kind == kind && collective->bytes > 64)
            bytes += collective->bytes;
    return bytes;
}

std::uint64_t bytes_of(const StepProgram& step, Keep keep) {
    std::uint64_t bytes = 0;
    for (const Buffer& buffer : step.programs.front().buffers)
        if (buffer.keep == keep && buffer.lifetime.span == Lifetime::Span::step) bytes += buffer.bytes;
    return bytes;
}

TEST(CompressedMomentum, OneBitANumberGoesEachWayAndNoGradient) {
    for (const auto& [tensor, pipeline] : {std::pair{1U, 1U}, {2U, 1U}, {1U, 2U}, {2U, 2U}})
        for (const bool overlap : {false, true}) {
            Plan plan = compressing(tensor, pipeline);
            plan.strategy.overlap_grad_reduce = overlap;
            validate(plan);
            Plan plain = plan;
            plain.strategy.compression = Compression::none;
            const StepProgram step = build(plan), usual = build(plain);
            ASSERT_EQ(verify(step), Problems{});
            for (std::uint32_t role = 0; role < pipeline; ++role) {
                EXPECT_EQ(moved(step, CollectiveKind::all_reduce, role), 0U) << "gradients stay";
                // A sixteenth of fp16's all-reduce, which is a scatter and a gather of all (the paper, section 7).
                const double gradients = static_cast<double>(moved(usual, CollectiveKind::all_reduce, role));
                for (const CollectiveKind kind : {CollectiveKind::all_to_all, CollectiveKind::all_gather})
                    EXPECT_NEAR(static_cast<double>(moved(step, kind, role)), gradients / 16, 16 + gradients * 1e-3);
            }
        }
}

TEST(CompressedMomentum, ErrorsOfWorkerAndServerAreKept) {
    const Plan plan = compressing();
    Plan plain = plan;
    plain.strategy.compression = Compression::none;
    const StepProgram step = build(plan), usual = build(plain);
    const std::uint64_t parameters = moved(usual, CollectiveKind::all_reduce) / 2;
    const std::uint64_t errors = bytes_of(step, Keep::optimizer) - bytes_of(usual, Keep::optimizer);
    EXPECT_NEAR(static_cast<double>(errors), 5.0 * static_cast<double>(parameters), 1000)
        << "fp32, and a quarter of it";
    EXPECT_EQ(errors, compression_error_bytes(plan, parameters));
    // Parts are whole bytes of bits: 4 ranks, 8 numbers each.
    EXPECT_EQ(compression_error_bytes(plan, 1), (32 + 8) * 4U);
    EXPECT_EQ(compression_error_bytes(plan, 32), (32 + 8) * 4U);
    EXPECT_EQ(compression_error_bytes(plan, 33), (64 + 16) * 4U);
}

TEST(CompressedMomentum, TheExchangeFollowsTheLastBackward) {
    Plan plan = compressing();
    plan.strategy.overlap_grad_reduce = true;
    const StepProgram step = build(plan);
    const std::vector<Op>& ops = step.programs.front().ops;
    const auto last_backward =
        std::ranges::find_if(ops.rbegin(), ops.rend(), [](const Op& op) { return op.label.phase == Phase::backward; });
    const auto first_exchange = std::ranges::find_if(ops, [](const Op& op) { return op.lane == Lane::data; });
    EXPECT_LT(last_backward.base() - ops.begin(), first_exchange - ops.begin() + 1);
}

TEST(CompressedMomentum, OneRankHasNobodyToExchangeWith) {
    Plan plan = compressing(1, 1, 1);
    EXPECT_EQ(refused_at(plan), "/strategy/compression");
    EXPECT_EQ(moved(build(plan), CollectiveKind::all_to_all), 0U) << "the reference of a scale factor is Adam";
}

TEST(CompressedMomentum, WhatItDoesNotGoWithIsRefused) {
    EXPECT_EQ(refused_at(compressing()), "accepted");
    const auto with = [](auto change) {
        Plan plan = compressing();
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(with([](Plan& plan) { plan.strategy.sharding = Sharding::zero1; }), "/strategy/sharding");
    EXPECT_EQ(with([](Plan& plan) { plan.strategy.optimizer_cpu_offload = true; }), "/strategy/optimizer_cpu_offload");
    EXPECT_EQ(with([](Plan& plan) {
                  plan.training.precision = {kernels::Dtype::fp32, kernels::Dtype::fp32};
              }),
              "/training/precision");
    EXPECT_EQ(with([](Plan& plan) {
                  plan.strategy.compression = Compression::none;
                  plan.strategy.freeze_step = 1000;
              }),
              "/strategy/freeze_step");
    Plan experts = moe_plan();
    experts.strategy.compression = Compression::onebit_adam;
    EXPECT_EQ(refused_at(experts), "/strategy/compression");
    Plan pipelined = compressing(1, 2, 2);
    pipelined.strategy.schedule = ScheduleKind::pipedream_2bw;
    pipelined.model.tied_embeddings = false;
    EXPECT_EQ(refused_at(pipelined), "/strategy/compression");
}

}  // namespace
}  // namespace orrery::strategies
