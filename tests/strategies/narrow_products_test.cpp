// Products in fp8 as tensors: complete flows, casts before what reads them, the prices of those that have no operands.
#include "strategies/partition/narrow_products.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "strategies/build.hpp"
#include "strategies/contract.hpp"
#include "strategies/flow_checks.hpp"
#include "strategies/state_checks.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using hardware::Software;
using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;

Plan narrow_plan(const models::ModelSpec& model, std::uint32_t tensor = 1, bool sequence = false) {
    Plan plan = tiny_plan(tensor, 1, 4);
    plan.model = model;
    plan.training.fused_attention = true;
    plan.training.precision = {Dtype::fp8, Dtype::fp32};
    plan.training.fp8_recipe = Fp8Recipe::tensorwise;
    plan.training.software = Software::orrery;
    plan.strategy.sequence_parallel = sequence;
    return plan;
}

bool complete(const StepProgram& step) { return std::ranges::all_of(step.flows, &LayerFlow::complete); }

TEST(NarrowProducts, AreTensorsThatFitTheirKernels) {
    for (const models::ModelSpec& model : {tiny_gpt(), tiny_llama()})
        for (const auto& [tensor, sequence] : {std::pair{1U, false}, {2U, false}, {2U, true}})
            for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
                for (const bool fused : {true, false}) {
                    Plan plan = narrow_plan(model, tensor, sequence);
                    plan.strategy.recompute = recompute;
                    plan.training.gradient_accumulation_fusion = fused;
                    validate(plan);
                    const StepProgram step = build(plan);
                    EXPECT_TRUE(complete(step)) << model.name;
                    EXPECT_EQ(verify(step), std::vector<std::string>{}) << model.name;
                }
}

TEST(NarrowProducts, OfOthersHaveNoOperands) {
    const auto complete_with = [](void (*change)(Plan&)) {
        Plan plan = narrow_plan(tiny_gpt());
        change(plan);
        const StepProgram step = build(plan);
        EXPECT_EQ(verify(step), std::vector<std::string>{});
        return complete(step);
    };
    EXPECT_TRUE(complete_with([](Plan& p) { p.training.software = Software::transformer_engine; }));
    EXPECT_FALSE(complete_with([](Plan& p) { p.training.software = Software::pytorch; }));
    EXPECT_FALSE(complete_with([](Plan& p) { p.training.fp8_recipe = Fp8Recipe::delayed; }));
    EXPECT_FALSE(complete_with([](Plan& p) { p.training.fp8_recipe = Fp8Recipe::blockwise; }));
    EXPECT_FALSE(complete_with([](Plan& p) { p.training.fp8_param_gather = true; }));
    EXPECT_FALSE(complete_with([](Plan& p) { p.training.no_transpose_cache = true; }));
    EXPECT_FALSE(complete_with([](Plan& p) { p.training.lora_rank = 4; }));
    EXPECT_FALSE(complete_with([](Plan& p) {
        p.strategy.pipeline = 2;
        p.strategy.schedule = ScheduleKind::pipedream_2bw;
    }));
    EXPECT_TRUE(complete_with([](Plan& p) { p.training.optimizer = Optimizer::lion; }));
    EXPECT_TRUE(complete_with([](Plan& p) { p.training.apply_groups = 2; }));
    EXPECT_FALSE(complete_with([](Plan& p) {
        p.strategy.data = 2;
        p.training.global_batch *= 2;
        p.strategy.sharding = Sharding::zero3;
    }));
}

/// Of a block: forward, and the gradients of inputs and weights.
TEST(NarrowProducts, AreLaunchedAsForwardPasses) {
    const StepProgram step = build(narrow_plan(tiny_gpt()));
    int narrow = 0, in_gradients = 0;
    for (const Program& block : step.blocks)
        for (std::size_t i = 0; i < block.ops.size(); ++i) {
            const auto* compute = std::get_if<Compute>(&block.ops[i].what);
            if (compute == nullptr) continue;
            const Launch& launch = block.details[i].launch;
            const kernels::Kernel kernel = launched(step.kernels[compute->kernel], launch);
            const auto* gemm = std::get_if<Gemm>(&kernel);
            if (gemm == nullptr || gemm->dtype != Dtype::fp8) continue;
            EXPECT_EQ(gemm->pass, GemmPass::forward);
            EXPECT_EQ(kernels::flops(*gemm), kernels::flops(step.kernels[compute->kernel]));
            EXPECT_TRUE(launch.settings.narrow.scaled);
            in_gradients += launch.settings.narrow.gradient ? 1 : 0;
            ++narrow;
        }
    EXPECT_EQ(narrow, 3 * 4) << "of four products";
    EXPECT_EQ(in_gradients, 2 * 4);
    const auto kernels = launched_kernels(step);
    EXPECT_TRUE(std::ranges::none_of(kernels, [](const kernels::Kernel& kernel) {
        const auto* gemm = std::get_if<Gemm>(&kernel);
        return gemm != nullptr && gemm->dtype == Dtype::fp8 && gemm->pass != GemmPass::forward;
    }));
}

/// Where a weight's cast is left out, a layer reads what is not there.
TEST(NarrowProducts, ReadWeightsThatWereCast) {
    StepProgram step = build(narrow_plan(tiny_gpt()));
    Program& program = step.programs.front();
    const auto is_cast = [&](const Op& op) { return step.names[op.label.name] == "cast weights"; };
    EXPECT_EQ(std::ranges::count_if(program.ops, is_cast), 4 * 4 * 2)
        << "of four layers, behind their largest elements";
    for (Op& op : program.ops)
        if (is_cast(op)) op.state = no_state;
    const auto problems = state_problems(step);
    ASSERT_FALSE(problems.empty());
    EXPECT_NE(problems.front().find("reads the cast weights before anything wrote it"), std::string::npos)
        << problems.front();
}

/// In a layer's backward, by its products: queries, keys and values, projection, and those of the MLP.
std::vector<long> casts(const Plan& plan) {
    std::vector<long> by_piece;
    for (const Piece& piece : shard(models::build(plan.model).layer("block"), plan).pieces)
        if (const auto found = std::ranges::count(piece.backward, "quantise", &Work::name); found > 0)
            by_piece.push_back(found);
    return by_piece;
}

/// save_original_input: the results that attention's own backward needs in 16 bits.
TEST(NarrowProducts, OfAttentionsResultsAreCastAgainWhere16BitsAreKept) {
    Plan plan = narrow_plan(tiny_gpt());
    const std::vector<long> once{1, 1, 1, 1}, twice{1, 2, 1, 1};
    EXPECT_EQ(casts(plan), once) << "our own runtime keeps both";
    plan.training.software = Software::transformer_engine;
    EXPECT_EQ(casts(plan), twice);
    plan.training.fp8_recipe = Fp8Recipe::mxfp8;
    EXPECT_EQ(casts(plan), twice);
    plan.training.fp8_recipe = Fp8Recipe::delayed;
    EXPECT_EQ(casts(plan), once);
    plan.training.precision.compute = Dtype::fp4;
    EXPECT_EQ(casts(plan), twice);
    plan.training.software = Software::pytorch;
    EXPECT_EQ(casts(plan), once) << "inputs that are cast again are not counted";
    plan.training.precision.compute = Dtype::bf16;
    EXPECT_EQ(casts(plan), std::vector<long>{});
}

/// Ranks that divide a sequence keep their parts in 16 bits, and cast what they gather of them a second time.
TEST(NarrowProducts, OfADividedSequenceAreCastAgain) {
    EXPECT_EQ(casts(narrow_plan(tiny_gpt(), 2)), (std::vector<long>{1, 1, 1, 1}));
    EXPECT_EQ(casts(narrow_plan(tiny_gpt(), 2, true)), (std::vector<long>{2, 1, 2, 1})) << "column-parallel ones";
    const auto inputs = [](const Plan& plan) {
        const auto pieces = shard(models::build(plan.model).layer("block"), plan).pieces;
        return std::ranges::find(pieces, "qkv", &Piece::name)->saved_bytes;
    };
    EXPECT_EQ(inputs(narrow_plan(tiny_gpt(), 2, true)), inputs(narrow_plan(tiny_gpt(), 2)))
        << "half of the tokens in twice the bytes";
}

}  // namespace
}  // namespace orrery::strategies
