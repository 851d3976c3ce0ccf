// Operands of layers' operations: what builders write fits the contracts of kernels, and planted faults are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "strategies/build.hpp"
#include "strategies/contract.hpp"
#include "strategies/flow_checks.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// Layers whose operations all have operands.
Plan whole(models::ModelSpec model, std::uint32_t tensor = 1) {
    Plan plan = tiny_plan(tensor, 1, 4);
    plan.model = std::move(model);
    plan.training.fused_attention = true;
    plan.training.precision.grad_reduce = kernels::Dtype::fp32;
    return plan;
}

models::ModelSpec with_experts(models::ModelSpec model, std::uint32_t top_k, std::uint32_t shared) {
    model.experts = 8;
    model.experts_per_token = top_k;
    model.expert_ffn = 96;
    model.shared_expert_ffn = shared;
    model.moe_layer_freq = 2;
    return model;
}

std::vector<Plan> plans() {
    std::vector<Plan> all;
    for (const auto& model : {tiny_gpt(), tiny_llama(), with_experts(tiny_llama(), 2, 0),
                              with_experts(tiny_llama(), 1, 64), with_experts(tiny_gpt(), 2, 128)})
        for (const std::uint32_t tensor : {1U, 2U})
            for (const bool sequence : {false, true}) {
                Plan plan = whole(model, tensor);
                plan.strategy.sequence_parallel = sequence && tensor > 1;
                if (model.experts > 0 && tensor > 1 && !sequence) continue;  // refused, as by Megatron-LM
                plan.strategy.expert = model.experts > 0 ? 4 : 1;
                all.push_back(std::move(plan));
            }
    return all;
}

TEST(Flow, EveryOperandFitsItsKernelsContract) {
    int seen = 0;
    for (Plan plan : plans())
        for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
            for (const bool fused : {true, false})
                for (const auto compute : {kernels::Dtype::bf16, kernels::Dtype::fp32, kernels::Dtype::tf32}) {
                    plan.strategy.recompute = recompute;
                    plan.training.gradient_accumulation_fusion = fused;
                    plan.training.precision.compute = compute;
                    validate(plan);
                    const StepProgram step = build(plan);
                    for (const LayerFlow& flow : step.flows) EXPECT_TRUE(flow.complete);
                    EXPECT_EQ(flow_problems(step), std::vector<std::string>{}) << plan.model.name;
                    ++seen;
                }
    EXPECT_GE(seen, 300);
}

/// Products of heads inside packed rows, or apart behind norms of their own; heads that share keys.
TEST(Flow, HoldsForAttentionThatIsNotFused) {
    models::ModelSpec normed = tiny_llama();
    normed.qk_norm = true;
    for (const auto& model : {tiny_gpt(), tiny_llama(), normed})
        for (const std::uint32_t tensor : {1U, 2U})
            for (const double dropout : {0.0, 0.1})
                for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
                    Plan plan = whole(model, tensor);
                    plan.strategy.sequence_parallel = tensor > 1;
                    plan.model.dropout = dropout;
                    plan.training.fused_attention = false;
                    plan.strategy.recompute = recompute;
                    validate(plan);
                    const StepProgram step = build(plan);
                    for (const LayerFlow& flow : step.flows) EXPECT_TRUE(flow.complete);
                    EXPECT_EQ(flow_problems(step), std::vector<std::string>{}) << plan.model.name;
                }
}

/// In two works the weight gradients come later and find what they need.
TEST(Flow, HoldsForABackwardInTwoParts) {
    for (Plan plan : plans()) {
        plan.strategy.pipeline = 2;
        plan.strategy.data = plan.model.experts > 0 ? 4 : 2;
        plan.strategy.schedule = ScheduleKind::zb_h1;
        validate(plan);
        EXPECT_EQ(flow_problems(build(plan)), std::vector<std::string>{}) << plan.model.name;
    }
}

std::vector<ValueId> kept(const Plan& plan) {
    const StepProgram step = build(plan);
    // Of two types of one layer the recomputed one comes last.
    const auto backward = std::find_if(step.blocks.rbegin(), step.blocks.rend(),
                                       [](const Program& block) { return block.name == "block backward"; });
    return carried(step, *backward);
}

/// Korthikanti et al. 2022: full recomputation keeps a layer's input, selective all but what attention makes again.
TEST(Flow, WhatALayerKeepsFollowsFromItsOperations) {
    Plan plan = whole(tiny_llama());
    const std::size_t all = kept(plan).size();
    plan.strategy.recompute = Recompute::selective;
    EXPECT_EQ(kept(plan).size(), all - 1);  // the log-sum-exp; the next product keeps attention's output
    plan.strategy.recompute = Recompute::full;
    EXPECT_EQ(kept(plan).size(), 2U);  // its input; and the gradient of its output, which comes from above
}

TEST(Flow, ALayerThatIsNotDescribedSaysSo) {
    Plan plan = whole(tiny_gpt());
    plan.training.kernel_fusion = KernelFusion::operators;
    const StepProgram step = build(plan);
    const auto forward = std::ranges::find(step.blocks, "block forward", &Program::name);
    EXPECT_FALSE(step.flows[forward->flow].complete);
    EXPECT_EQ(flow_problems(step), std::vector<std::string>{});
}

class PlantedFault : public testing::Test {
protected:
    PlantedFault() : step_(build(whole(tiny_llama(), 2))) {}
    Program& block(const char* name) { return *std::ranges::find(step_.blocks, name, &Program::name); }
    Detail& detail(const char* in, const char* name) {
        Program& of = block(in);
        for (std::size_t i = 0; i < of.ops.size(); ++i)
            if (step_.names[of.ops[i].label.name] == name) return of.details[i];
        throw std::logic_error("no such operation");
    }
    void expect_found(const std::string& text) const {
        std::string all;
        for (const std::string& problem : flow_problems(step_)) all += problem + "\n";
        EXPECT_NE(all.find(text), std::string::npos) << "looked for: " << text << "\nfound: " << all;
    }
    StepProgram step_;
};

TEST_F(PlantedFault, AnOperandTooFew) {
    detail("block forward", "qkv").operands.pop_back();
    expect_found("block forward op 1 (qkv): 2 operands, its kernel takes 3");
}

TEST_F(PlantedFault, AnOperandOfAnotherFormat) {
    auto& operands = detail("block forward", "attention_norm").operands;
    std::swap(operands[0], operands[3]);  // the statistics, fp32
    expect_found("(attention_norm): x is fp32, its kernel takes bf16");
}

TEST_F(PlantedFault, AnOperandBeyondItsTensor) {
    detail("block forward", "attention").operands[2].offset += 1;
    expect_found("(attention): v reaches to element");
}

TEST_F(PlantedFault, AReadBeforeTheWrite) {
    Detail& up = detail("block forward", "up");
    const View later = up.operands[2];
    up.operands[0] = detail("block forward", "down").operands[2];
    EXPECT_NE(later.value, up.operands[0].value);
    expect_found("(up): reads activation");
}

TEST_F(PlantedFault, AGradientFormedTwice) {
    Detail& wgrad = detail("block backward", "projection wgrad");
    wgrad.operands[2] = detail("block backward", "qkv wgrad").operands[2];
    expect_found("the gradient of qkv.weight is formed by 2 operations");
    expect_found("the gradient of projection.weight is formed by 0 operations");
}

TEST_F(PlantedFault, ACollectiveOfOtherBytes) {
    Program& forward = block("block forward");
    for (Op& op : forward.ops)
        if (auto* collective = std::get_if<Collective>(&op.what)) collective->bytes *= 2;
    expect_found("what it sends reaches to element");
}

}  // namespace
}  // namespace orrery::strategies
