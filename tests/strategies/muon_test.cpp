// Muon: the products of each matrix, what it keeps, and how ranks divide it.
#include "strategies/muon.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "models/catalog.hpp"
#include "strategies/build.hpp"
#include "strategies/state_bytes.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using Problems = std::vector<std::string>;

Plan with_muon(Plan plan) {
    plan.training.optimizer = Optimizer::muon;
    return plan;
}

/// The first stage's, as muon_share() takes it.
template <class Use>
auto on_stage(const Plan& plan, const Use& use) {
    StepProgram step;
    step.mesh = plan.mesh();
    Intern intern(step);
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    return use(place_layers(blocks, plan, 0));
}

std::map<std::string, int> products(const StepProgram& step) {
    std::map<std::string, int> list;
    for (const Op& op : step.programs.front().ops)
        if (const auto* compute = std::get_if<Compute>(&op.what))
            if (op.label.phase == Phase::optimizer)
                if (const auto* gemm = std::get_if<kernels::Gemm>(&step.kernels[compute->kernel]))
                    ++list[kernels::to_text(*gemm)];
    return list;
}

/// Llama of hidden 64: queries 64 x 64, keys and values 32 x 64 each, proj 64 x 64, gate and up 384 x 64, down 64 x
/// 192; five iterations of three products, whose short side is the matrix's shorter one, in four layers.
TEST(Muon, IteratesOverEachMatrixByItsShorterSide) {
    Plan plan = with_muon(tiny_plan());
    plan.model = tiny_llama();
    const StepProgram step = build(plan);
    ASSERT_EQ(verify(step), Problems{});
    const std::map<std::string, int> expected{
        {"gemm bf16 1x64x64x64", 2 * 5 * 4},  // queries, proj
        {"gemm bf16 1x64x64x64 data-gradient", 4 * 5 * 4 + 2 * 5 * 4},
        {"gemm bf16 1x32x32x64", 2 * 5 * 4},  // keys, values
        {"gemm bf16 1x32x32x32 data-gradient", 2 * 5 * 4},
        {"gemm bf16 1x32x64x32 data-gradient", 2 * 5 * 4},
        {"gemm bf16 1x64x64x384", 5 * 4},  // gate and up
        {"gemm bf16 1x64x384x64 data-gradient", 5 * 4},
        {"gemm bf16 1x64x64x192", 5 * 4},  // down
        {"gemm bf16 1x64x192x64 data-gradient", 5 * 4},
    };
    EXPECT_EQ(products(step), expected);
    plan.training.muon_steps = 10;
    for (const auto& [product, count] : products(build(plan))) EXPECT_EQ(count, 2 * expected.at(product)) << product;
}

/// 2 (2 m^2 n + m^3) each (Moonlight, section 2.1: less than forward and backward by m over the tokens).
TEST(Muon, ItsProductsHaveTheFlopsOfItsPaper) {
    Plan plan = with_muon(tiny_plan());
    plan.model = tiny_llama();
    const StepProgram step = build(plan);
    double flops = 0, expected = 0;
    for (const Op& op : step.programs.front().ops)
        if (const auto* compute = std::get_if<Compute>(&op.what))
            if (op.label.phase == Phase::optimizer) flops += kernels::flops(step.kernels[compute->kernel]);
    on_stage(plan, [&](const Stage& stage) {
        for (const MuonMatrix& matrix : muon_share(plan, stage).matrices) {
            const double m = static_cast<double>(std::min(matrix.rows, matrix.cols));
            expected += 5 * 2 * (2 * matrix.cost() + m * m * m);
        }
        return 0;
    });
    EXPECT_NEAR(flops, expected, 1e-9 * expected);
}

/// A momentum of matrices, two moments of the rest, and the masters.
TEST(Muon, KeepsOneMomentumOfMatricesAndTwoMomentsOfTheRest) {
    const auto optimizer = [](const Plan& plan) {
        const StepProgram step = build(plan);
        std::uint64_t bytes = 0;
        for (const Buffer& buffer : step.programs.front().buffers)
            if (buffer.keep == Keep::optimizer) bytes += buffer.bytes;
        return bytes;
    };
    for (const kernels::Dtype compute : {kernels::Dtype::bf16, kernels::Dtype::fp32}) {
        Plan plan = with_muon(tiny_plan());
        plan.training.precision = {compute, kernels::Dtype::fp32};
        const std::uint64_t master = compute == kernels::Dtype::bf16 ? 4 : 0;
        const auto [matrices, rest] = on_stage(plan, [&](const Stage& stage) {
            const MuonShare share = muon_share(plan, stage);
            EXPECT_EQ(share.most + share.rest, stage.counts.trained);
            return std::pair{share.most, share.rest};
        });
        EXPECT_EQ(matrices, 4U * 12 * 64 * 64 + 128 * 64) << "layers and positions";
        EXPECT_EQ(optimizer(plan), matrices * (master + 4) + rest * (master + 8));
    }
}

TEST(Muon, TensorRanksGatherWhatTheySplit) {
    Plan plan = with_muon(tiny_plan(2));
    plan.model = tiny_llama();
    const StepProgram step = build(plan);
    ASSERT_EQ(verify(step), Problems{});
    std::map<std::uint64_t, int> gathered;
    for (const Op& op : step.programs.front().ops)
        if (const auto* one = std::get_if<Collective>(&op.what))
            if (step.names[op.label.name] == "gather momentum") ++gathered[one->bytes];
    const std::map<std::uint64_t, int> expected{
        {64 * 64 * 4, 2 * 4}, {32 * 64 * 4, 2 * 4}, {384 * 64 * 4, 4}, {64 * 192 * 4, 4}};
    EXPECT_EQ(gathered, expected);
    Plan alone = plan;
    alone.strategy.tensor = 1;
    EXPECT_EQ(products(step), products(build(alone))) << "each works on the whole";
}

TEST(Muon, RanksThatShareUpdateWholeMatrices) {
    Plan plan = with_muon(tiny_plan(1, 1, 4));
    plan.model = tiny_llama();
    const double all = on_stage(plan, [&](const Stage& stage) {
        double cost = 0;
        for (const MuonMatrix& matrix : muon_share(plan, stage).matrices) cost += matrix.cost();
        return cost;
    });
    plan.strategy.sharding = Sharding::zero1;
    ASSERT_EQ(refused_at(plan), "accepted");
    EXPECT_EQ(verify(build(plan)), Problems{});
    on_stage(plan, [&](const Stage& stage) {
        const MuonShare share = muon_share(plan, stage);
        double cost = 0;
        std::uint64_t numbers = 0;
        for (const MuonMatrix& matrix : share.matrices) {
            cost += matrix.cost();
            numbers += matrix.held;
        }
        EXPECT_GE(cost, all / 4);
        EXPECT_LE(cost, all / 4 + 384 * 64 * 64) << "within one matrix of the mean";
        EXPECT_LE(numbers, share.most);
        EXPECT_EQ(share.rest, (2 * 1024 * 64 + 9 * 64) / 4U);
        return 0;
    });
    plan.strategy.data = 64;  // more ranks than matrices
    on_stage(plan, [&](const Stage& stage) {
        EXPECT_EQ(muon_share(plan, stage).matrices.size(), 1U);
        return 0;
    });
}

/// Every expert is a matrix of its own; experts are dealt among those that hold the same ones.
TEST(Muon, ExpertsAreMatricesOfTheirOwn) {
    const Plan plan = with_muon(moe_plan());
    ASSERT_EQ(refused_at(plan), "accepted");
    EXPECT_EQ(verify(build(plan)), Problems{});
    on_stage(plan, [&](const Stage& stage) {
        const MuonShare share = muon_share(plan, stage);
        EXPECT_EQ(std::ranges::count(share.matrices, true, &MuonMatrix::experts), 4 * 2 * 2)
            << "layers, experts of a rank, products";
        EXPECT_EQ(share.most + share.rest, stage.counts.trained);
        return 0;
    });
}

/// Shapes are those of all parameters that a rank holds, of every kind of model.
TEST(Muon, ShapesCoverTheParameters) {
    for (const models::ModelSpec& model : models::catalog()) {
        Plan plan = tiny_plan();
        plan.model = model;
        StepProgram step;
        step.mesh = plan.mesh();
        Intern intern(step);
        for (const TypeBlocks& type : add_model_blocks(step, intern, plan).types) {
            std::uint64_t numbers = 0;
            for (const ParameterShape& shape : type.plain.shapes) {
                numbers += shape.numbers() * shape.copies;
                if (!shape.parts.empty()) {
                    EXPECT_EQ(std::accumulate(shape.parts.begin(), shape.parts.end(), std::uint64_t{0}), shape.rows);
                }
            }
            EXPECT_EQ(numbers, type.plain.counts.trained) << model.name;
        }
    }
}

TEST(Muon, WhatItDoesNotGoWithIsRefused) {
    const auto refused = [](const auto& change) {
        Plan plan = with_muon(tiny_plan(1, 1, 4));
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(refused([](Plan&) {}), "accepted");
    EXPECT_EQ(refused([](Plan& p) { p.training.fused_optimizer = false; }), "accepted");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.sharding = Sharding::zero2; }), "/training/optimizer");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.sharding = Sharding::zero3; }), "/training/optimizer");
    EXPECT_EQ(refused([](Plan& p) { p.training.lora_rank = 8; }), "/training/optimizer");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.optimizer_cpu_offload = true; }), "/training/optimizer");
    EXPECT_EQ(refused([](Plan& p) { p.strategy.compression = Compression::onebit_adam; }), "/training/optimizer");
    EXPECT_EQ(refused([](Plan& p) {
                  p.strategy.sharding = Sharding::zero1;
                  p.strategy.optimizer_instances = 2;
              }),
              "/strategy/num_distributed_optimizer_instances");
    EXPECT_EQ(refused([](Plan& p) {
                  p.training.optimizer = Optimizer::adam;
                  p.training.muon_steps = 10;
              }),
              "/training/muon_num_ns_steps");
}

}  // namespace
}  // namespace orrery::strategies
