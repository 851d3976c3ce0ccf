// PowerSGD: factors of gradients instead of gradients.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "models/catalog.hpp"
#include "strategies/build.hpp"
#include "strategies/low_rank_gradients.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan factored(std::uint32_t rank, bool overlap = true) {
    Plan plan = tiny_plan(1, 1, 4);
    plan.strategy.sharding = Sharding::none;
    plan.strategy.compression = Compression::powersgd;
    plan.strategy.powersgd_rank = rank;
    plan.strategy.overlap_grad_reduce = overlap;
    plan.strategy.bucket_bytes = 100'000;
    plan.training.precision.grad_reduce = kernels::Dtype::bf16;
    return plan;
}

std::vector<ParameterShape> shapes_of(const Plan& plan) {
    StepProgram step;
    Intern intern(step);
    std::vector<ParameterShape> list;
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    const Stage stage = place_layers(blocks, plan, 0);
    for (const PlacedLayer& layer : stage.chunks.front())
        list.insert(list.end(), layer.blocks->shapes.begin(), layer.blocks->shapes.end());
    return list;
}

/// Numbers that a step's operations of a name reduce, or products' FLOPs.
struct Counted {
    std::map<std::string, std::uint64_t> reduced;
    double flops = 0;
};
Counted counted(const Plan& plan) {
    Counted result;
    const StepProgram step = build(plan);
    for (const Op& op : step.programs.front().ops) {
        if (op.lane != Lane::data) continue;
        if (const auto* c = std::get_if<Collective>(&op.what))
            result.reduced[step.names[op.label.name]] +=
                c->bytes / kernels::size_of(plan.training.precision.grad_reduce);
        if (const auto* compute = std::get_if<Compute>(&op.what))
            if (const auto* gemm = std::get_if<kernels::Gemm>(&step.kernels[compute->kernel]))
                result.flops += 2.0 * gemm->m * gemm->n * gemm->k;
    }
    return result;
}

/// arXiv:1905.13727, algorithm 1: of each matrix (n + m) r numbers leave, for three products of n m r.
TEST(LowRank, FactorsAreExchangedForThreeProducts) {
    for (const std::uint32_t rank : {1U, 2U, 4U})
        for (const bool overlap : {false, true}) {
            const Plan plan = factored(rank, overlap);
            validate(plan);
            std::uint64_t factors = 0, plain = 0;
            double flops = 0;
            for (const ParameterShape& shape : shapes_of(plan)) {
                if (!has_factors(shape, rank)) {
                    plain += shape.numbers();
                    continue;
                }
                factors += (shape.rows + shape.cols) * rank;
                flops += 3 * 2.0 * static_cast<double>(shape.numbers()) * rank;
            }
            const Counted found = counted(plan);
            EXPECT_EQ(found.reduced.at("exchange factors"), factors) << rank;
            EXPECT_EQ(found.reduced.at("gradient reduction"), plain) << rank;
            EXPECT_DOUBLE_EQ(found.flops, flops) << rank;
            EXPECT_EQ(verify(build(plan)), std::vector<std::string>{});
        }
}

/// PyTorch's min_compression_rate: what would not be halved stays whole, and so do vectors.
TEST(LowRank, WhatFactorsDoNotHalveStaysWhole) {
    EXPECT_TRUE(has_factors({.rows = 64, .cols = 256}, 12));
    EXPECT_TRUE(has_factors({.rows = 64, .cols = 256}, 25));
    EXPECT_FALSE(has_factors({.rows = 64, .cols = 256}, 26));
    EXPECT_FALSE(has_factors({.rows = 4096, .cols = 1}, 1));
    const Counted whole = counted(factored(64));
    EXPECT_FALSE(whole.reduced.contains("exchange factors"));
    std::uint64_t all = 0;
    for (const ParameterShape& shape : shapes_of(factored(64))) all += shape.numbers();
    EXPECT_EQ(whole.reduced.at("gradient reduction"), all);
}

TEST(LowRank, WhatIsLostAndFactorsStay) {
    Plan plan = factored(2);
    const std::uint64_t with = memory(build(plan), 0).at_peak[static_cast<std::size_t>(Keep::optimizer)];
    std::uint64_t numbers = 0;
    for (const ParameterShape& shape : shapes_of(plan))
        numbers += shape.numbers() + (has_factors(shape, 2) ? 2 * (shape.rows + shape.cols) : 0);
    plan.strategy.compression = Compression::none;
    plan.strategy.powersgd_rank = 1;
    EXPECT_EQ(with - memory(build(plan), 0).at_peak[static_cast<std::size_t>(Keep::optimizer)], 2 * numbers);
}

TEST(LowRank, WhatDoesNotGoTogetherIsRefusedByKey) {
    const auto pointer = [](const std::function<void(Plan&)>& change) {
        Plan plan = factored(2);
        change(plan);
        return refused_at(plan);
    };
    EXPECT_EQ(pointer([](Plan&) {}), "accepted");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.sharding = Sharding::zero1; }), "/strategy/sharding");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.compression = Compression::none; }), "/strategy/powersgd_rank");
    EXPECT_EQ(pointer([](Plan& p) { p.training.lora_rank = 8; }), "/strategy/compression");
    EXPECT_EQ(pointer([](Plan& p) {
                  p.model = models::find("resnet-50");
                  p.training.seq = 1;
                  p.strategy.powersgd_rank = 2;
                  p.strategy.split_classes = 4;
              }),
              "/strategy/compression");
    EXPECT_EQ(pointer([](Plan& p) { p.strategy.gradient_syncs = GradientSyncs::micro_batch; }),
              "/strategy/gradient_sync");
    EXPECT_EQ(pointer([](Plan& p) {
                  p.training.precision.grad_reduce = kernels::Dtype::fp32;
                  p.strategy.powersgd_rank = 4;
              }),
              "/strategy/powersgd_rank");
    EXPECT_EQ(pointer([](Plan& p) {
                  p.strategy.data = 1;
                  p.training.global_batch /= 4;
              }),
              "/strategy/compression");
}

}  // namespace
}  // namespace orrery::strategies
