// A network over images on data ranks: its program computes what its graph counts.
#include <gtest/gtest.h>

#include <variant>

#include "base/error.hpp"
#include "models/catalog.hpp"
#include "models/operators.hpp"
#include "strategies/build.hpp"
#include "strategies/stage.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

Plan resnet(std::uint32_t data = 1) {
    Plan plan = tiny_plan(1, 1, data);
    plan.model = models::find("resnet-50");
    plan.training.seq = 1;
    plan.training.micro_batch = 32;
    plan.training.global_batch = 32 * data;
    return plan;
}

TEST(ResNet, ComputesThreeForwardPassesButForTheGradientOfItsImages) {
    const Plan plan = resnet();
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    const double stem = 2.0 * 32 * 112 * 112 * 64 * 3 * 7 * 7;
    EXPECT_NEAR(kernel_flops(step) / (models::model_flops(models::build(plan.model), 32, 1) - stem), 1, 1e-12);
}

TEST(ResNet, HoldsEveryParameterOnEveryRank) {
    StepProgram step;
    Intern intern(step);
    const Plan plan = resnet(4);
    EXPECT_EQ(place_layers(add_model_blocks(step, intern, plan), plan, 0).counts.trained, 25'557'032U);
    const StepProgram whole = build(plan);
    EXPECT_TRUE(verify(whole).empty());
    std::uint64_t reduced = 0;
    for (const Op& op : whole.programs[0].ops)
        if (const auto* c = std::get_if<Collective>(&op.what))
            if (c->group == AxisSet{Axis::data}) reduced += c->bytes;
    EXPECT_GE(reduced, 25'557'032U * kernels::size_of(plan.training.precision.grad_reduce));
}

/// Inputs of convolutions, of batch norms and of pools, each once: of 224 x 224 pixels 3 + 64 / 4 ... elements.
TEST(ResNet, KeepsWhatItsBackwardNeedsOnce) {
    StepProgram step;
    Intern intern(step);
    const Plan plan = resnet();
    const ModelBlocks blocks = add_model_blocks(step, intern, plan);
    const auto bytes = [&](std::uint64_t elements) { return 2 * 32 * elements; };
    const std::uint64_t statistics = 8;  // bytes a channel
    // The image, the first convolution's result, and its norm's.
    EXPECT_EQ(blocks.of("stem").plain.saved_bytes,
              bytes(3 * 224 * 224 + 64 * 112 * 112 + 64 * 112 * 112) + statistics * 64);
    // A branch: its input, and what lies before and behind two norms; behind the third lies the join.
    EXPECT_EQ(blocks.of("branch 1").plain.saved_bytes,
              bytes((256 + 4 * 64 + 256) * 56 * 56) + statistics * (64 + 64 + 256));
    // A shortcut reads what its branch keeps.
    EXPECT_EQ(blocks.of("shortcut 1").plain.saved_bytes, bytes(256 * 56 * 56) + statistics * 256);
    EXPECT_EQ(blocks.of("join 1").plain.saved_bytes, 0U);
}

/// Bytes that memory-bound kernels and batch norms of a step move, on one rank.
double streamed(const StepProgram& step) {
    double sum = 0;
    const auto add = [&](const Program& program, auto& self) -> void {
        for (const Op& op : program.ops) {
            if (const auto* call = std::get_if<Call>(&op.what)) self(step.blocks[call->block], self);
            const auto* compute = std::get_if<Compute>(&op.what);
            if (compute == nullptr) continue;
            const kernels::Kernel& kernel = step.kernels[compute->kernel];
            if (!std::holds_alternative<kernels::Convolution>(kernel) && !std::holds_alternative<kernels::Gemm>(kernel))
                sum += kernels::bytes(kernel);
        }
    };
    add(step.programs[0], add);
    return sum;
}

/// A fused norm spares every ReLU its two passes forward and three backward; behind a join it spares the addition's
/// three too, but reads the residual and writes its gradient.
TEST(ResNet, FusedNormsSpareReLUsAndAdditions) {
    Plan plan = resnet();
    plan.training.kernel_fusion = KernelFusion::operators;
    const double apart = streamed(build(plan));
    plan.training.kernel_fusion = KernelFusion::full;
    const double fused = streamed(build(plan));
    const double stem = 64 * 112 * 112;
    double inner = stem, joined = 0;  // elements of ReLUs inside branches, and behind joins
    const std::uint32_t depths[] = {3, 4, 6, 3};
    for (std::uint32_t i = 0; i < 4; ++i) {
        const double width = 64U << i, size = 56U >> i;
        inner += depths[i] * 2 * width * size * size;
        if (i > 0) inner += width * size * size * 3;  // a stage's first 1 x 1 comes before the stride
        joined += depths[i] * 4 * width * size * size;
    }
    EXPECT_NEAR((apart - fused) / (2.0 * 32 * (5 * inner + (3 + 5 - 2) * joined)), 1, 1e-9);
}

/// Elements that a pass over a convolution reads and writes: its images, its results, and its weights unless a kernel
/// is of one pixel.
double touched(const models::Convolution& c, double batch) {
    const auto weights = static_cast<double>(c.outputs * c.in.channels * c.kernel * c.kernel);
    const double images = static_cast<double>(c.in.elements()) + static_cast<double>(c.out().elements());
    return batch * images + (c.kernel > 1 ? weights : 0);
}

/// Each pass of each convolution reads and writes once more all that it touches; the first has no gradient of images.
TEST(ResNet, ChannelsFirstAreTransposedAroundTensorCores) {
    Plan plan = resnet();
    const double last = streamed(build(plan));
    plan.training.memory_format = MemoryFormat::channels_first;
    validate(plan);
    const StepProgram first = build(plan);
    EXPECT_TRUE(verify(first).empty());
    double moved = 0;
    const models::Model model = models::build(plan.model);
    for (std::size_t i = 0; i < model.layers.size(); ++i)
        for (const models::Operator& op : model.layers[i].operators)
            if (const auto* c = std::get_if<models::Convolution>(&op))
                moved += static_cast<double>(model.uses()[i]) * (c->reads_data ? 2 : 3) * touched(*c, 32);
    EXPECT_NEAR((streamed(first) - last) / (2.0 * 2 * moved), 1, 1e-12);
    EXPECT_EQ(kernel_flops(first), kernel_flops(build(resnet())));

    plan.training.precision.compute = kernels::Dtype::fp32;
    const double without_tensor_cores = streamed(build(plan));
    plan.training.memory_format = MemoryFormat::channels_last;
    EXPECT_EQ(streamed(build(plan)), without_tensor_cores);
}

TEST(ResNet, ChannelsFirstAreOfConvolutions) {
    Plan plan = tiny_plan(1, 1, 1);
    plan.training.memory_format = MemoryFormat::channels_first;
    try {
        validate(plan);
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.pointer(), "/training/memory_format");
    }
}

TEST(ResNet, WhatIsNotSupportedYetIsRefusedByName) {
    const auto pointer_of = [](auto change) {
        Plan plan = resnet(4);
        change(plan);
        try {
            validate(plan);
        } catch (const Error& error) {
            EXPECT_NE(error.message().find("resnet-50"), std::string::npos);
            EXPECT_FALSE(error.hint().empty());
            return error.pointer();
        }
        return std::string("accepted");
    };
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.tensor = 2; }), "/strategy/tensor");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.pipeline = 2; }), "/strategy/pipeline");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.recompute = Recompute::full; }), "/strategy/recompute");
    EXPECT_EQ(pointer_of([](Plan& p) { p.strategy.cpu_offloading_num_layers = 1; }),
              "/strategy/cpu_offloading_num_layers");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.precision.compute = kernels::Dtype::fp8; }), "/training/precision");
    EXPECT_EQ(pointer_of([](Plan& p) { p.training.seq = 2; }), "/training/seq_length");
}

}  // namespace
}  // namespace orrery::strategies
