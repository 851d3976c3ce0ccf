// The text of a whole tiny step against a reviewed file; UPDATE_GOLDEN=1 writes it anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "strategies/build.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

/// Two stages of two tensor ranks, twice: tensor, sequence, pipeline and data parallelism, a distributed optimizer.
Plan small_plan() {
    Plan plan = tiny_plan(2, 2, 2);
    plan.model.layers = 2;
    plan.training.global_batch = 2 * 2 * 2;
    plan.strategy.sequence_parallel = true;
    plan.strategy.recompute = Recompute::selective;
    plan.strategy.sharding = Sharding::zero1;
    plan.strategy.overlap_grad_reduce = true;
    return plan;
}

/// Four experts, two a token, on two expert ranks of four data ranks: what a layer with experts adds.
Plan small_moe_plan() {
    Plan plan = tiny_plan(1, 1, 4);
    plan.model = tiny_llama();
    plan.model.layers = 2;
    plan.model.experts = 4;
    plan.model.experts_per_token = 2;
    plan.model.expert_ffn = 96;
    plan.model.moe_layer_freq = 2;
    plan.strategy.expert = 2;
    plan.strategy.sharding = Sharding::zero1;
    plan.training.fused_attention = true;
    plan.training.global_batch = 2 * 4;
    return plan;
}

/// Two stages of two layers, of which the first layer's activations go to host memory.
Plan small_offloading_plan() {
    Plan plan = tiny_plan(1, 2, 1);
    plan.training.global_batch = 2 * 2;
    plan.training.fused_attention = true;
    plan.strategy.cpu_offloading_num_layers = 1;
    return plan;
}

std::string first_difference(const std::string& text, const std::string& expected) {
    std::istringstream one(text), other(expected);
    std::string a, b;
    while (std::getline(one, a) && std::getline(other, b))
        if (a != b) return "is:       " + a + "\nexpected: " + b;
    return "one text goes on where the other ends";
}

void expect_as_reviewed(const std::string& text, const char* golden) {
    if (std::getenv("UPDATE_GOLDEN") != nullptr) {
        std::ofstream(golden, std::ios::binary) << text;
        return;
    }
    std::ifstream in(golden, std::ios::binary);
    ASSERT_TRUE(in) << golden << " is missing: run with UPDATE_GOLDEN=1 and review it";
    const std::string expected{std::istreambuf_iterator<char>(in), {}};
    EXPECT_TRUE(text == expected) << first_difference(text, expected)
                                  << "\nrun with UPDATE_GOLDEN=1 and review the difference of " << golden;
}

TEST(ToText, TinyStepIsAsReviewed) {
    const StepProgram step = build(small_plan());
    expect_as_reviewed(to_text(step, 0) + "\n" + to_text(step, 1), "tests/strategies/golden/tiny_step.txt");
}

TEST(ToText, TinyStepWithExpertsIsAsReviewed) {
    expect_as_reviewed(to_text(build(small_moe_plan()), 0), "tests/strategies/golden/tiny_moe_step.txt");
}

TEST(ToText, TinyStepWithOffloadingIsAsReviewed) {
    const StepProgram step = build(small_offloading_plan());
    expect_as_reviewed(to_text(step, 0) + "\n" + to_text(step, 1), "tests/strategies/golden/tiny_offload_step.txt");
}

TEST(ToText, OneLineForEachOperationAndBuffer) {
    const StepProgram step = build(small_plan());
    const std::string text = to_text(step, 0);
    std::size_t lines = 1, called_blocks = 0;  // the mesh
    std::vector<bool> called(step.blocks.size());
    for (const Op& op : step.programs[0].ops)
        if (const auto* call = std::get_if<Call>(&op.what)) called[call->block] = true;
    const auto add = [&](const Program& program) { lines += 1 + program.ops.size() + program.buffers.size(); };
    add(step.programs[0]);
    for (std::size_t b = 0; b < step.blocks.size(); ++b)
        if (called[b]) {
            add(step.blocks[b]);
            ++called_blocks;
        }
    EXPECT_EQ(called_blocks, 4U) << "embedding and layer, forward and backward";
    EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), lines);
}

}  // namespace
}  // namespace orrery::strategies
