// Gradients that travel in another format than they are summed in.
#include <gtest/gtest.h>

#include "strategies/build.hpp"
#include "strategies/memory.hpp"
#include "tests/strategies/tiny_plan.hpp"

namespace orrery::strategies {
namespace {

using kernels::Dtype;

Plan wire_plan(Sharding sharding, GradientWire wire, Dtype sums = Dtype::fp32) {
    Plan plan = tiny_plan(1, 1, 4);
    plan.strategy.sharding = sharding;
    plan.strategy.overlap_grad_reduce = true;
    plan.strategy.bucket_bytes = 100'000;
    plan.training.precision.grad_reduce = sums;
    plan.training.precision.wire = wire;
    return plan;
}

struct Wired {
    std::uint64_t moved = 0;            ///< bytes of reductions
    double cast = 0, most_of_cast = 0;  ///< numbers, and by one kernel
};
Wired wired(const Plan& plan) {
    Wired sum;
    const StepProgram step = build(plan);
    for (const Op& op : step.programs.front().ops) {
        const std::string_view name = step.names[op.label.name];
        if (const auto* c = std::get_if<Collective>(&op.what); c != nullptr && name == "gradient reduction")
            sum.moved += c->bytes;
        if (const auto* c = std::get_if<Compute>(&op.what); c != nullptr && name == "cast gradients") {
            const auto& cast = std::get<kernels::Pointwise>(step.kernels[c->kernel]);
            sum.cast += static_cast<double>(cast.cols);
            EXPECT_EQ(op.lane, Lane::data) << "beside the layers, in line with what it is cast for";
        }
    }
    return sum;
}

/// PyTorch's fp16_compress_hook: half of the bytes for a cast of all numbers each way; of a reduce-scatter a rank casts
/// back what it received.
TEST(GradientWire, HalvesTravelForTwoCasts) {
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
        const Wired whole = wired(wire_plan(sharding, GradientWire::as_summed));
        EXPECT_EQ(whole.cast, 0);
        for (const GradientWire wire : {GradientWire::fp16, GradientWire::bf16}) {
            const Plan plan = wire_plan(sharding, wire);
            validate(plan);
            EXPECT_TRUE(verify(build(plan)).empty());
            const Wired half = wired(plan);
            EXPECT_EQ(2 * half.moved, whole.moved);
            const double numbers = static_cast<double>(whole.moved) / 4;
            EXPECT_DOUBLE_EQ(half.cast, sharding == Sharding::none ? 2 * numbers : 1.25 * numbers);
        }
    }
}

/// DeepSpeed's communication_data_type: sums in 16 bits may travel in fp32.
TEST(GradientWire, WiderThanSumsToo) {
    const Wired narrow = wired(wire_plan(Sharding::none, GradientWire::as_summed, Dtype::bf16)),
                wide = wired(wire_plan(Sharding::none, GradientWire::fp32, Dtype::bf16));
    EXPECT_EQ(wide.moved, 2 * narrow.moved);
    EXPECT_GT(wide.cast, 0);
}

/// What is cast has memory of its own, bucket by bucket, until it has left.
TEST(GradientWire, ABucketsCopyIsThereWhileItTravels) {
    const auto peak = [](const Plan& plan) { return memory(build(plan), 0).peak; };
    const std::uint64_t more =
        peak(wire_plan(Sharding::none, GradientWire::bf16)) - peak(wire_plan(Sharding::none, GradientWire::as_summed));
    std::uint64_t copies = 0;
    const StepProgram step = build(wire_plan(Sharding::none, GradientWire::bf16));
    const Program& program = step.programs.front();
    for (const Op& op : program.ops)
        if (step.names[op.label.name] == "cast gradients")
            for (const BufferId id : program.writes(op)) copies += program.buffers[id].bytes;
    EXPECT_EQ(copies, wired(wire_plan(Sharding::none, GradientWire::bf16)).moved) << "each bucket's";
    EXPECT_LE(more, 2 * 100'000U + 1000 * 64 * 2U) << "half of two buckets, one of which holds the words";
}

/// Whatever makes bytes fewer, it makes them so many times fewer for so many passes each way.
TEST(GradientWire, ARatioIsOneOfBytes) {
    const Wired whole = wired(wire_plan(Sharding::zero2, GradientWire::as_summed));
    Plan plan = wire_plan(Sharding::zero2, GradientWire::as_summed);
    plan.strategy.compression = Compression::by_ratio;
    plan.strategy.compression_ratio = 8;
    plan.strategy.compression_passes = 3;
    validate(plan);
    const StepProgram step = build(plan);
    EXPECT_TRUE(verify(step).empty());
    EXPECT_NEAR(static_cast<double>(wired(plan).moved) * 8, static_cast<double>(whole.moved), 8.0 * 100);
    std::uint64_t numbers = 0;
    for (const Op& op : step.programs.front().ops)
        if (const auto* c = std::get_if<Compute>(&op.what);
            c != nullptr && step.names[op.label.name] == "compress gradients")
            numbers += std::get<kernels::Pointwise>(step.kernels[c->kernel]).cols;
    EXPECT_EQ(numbers, 3 * (whole.moved / 4 + whole.moved / 16));
}

TEST(GradientWire, SaysWhereItDoesNotGo) {
    constexpr const char* key = "/training/communication_data_type";
    Plan plan = wire_plan(Sharding::none, GradientWire::bf16);
    plan.strategy.compression = Compression::powersgd;
    EXPECT_EQ(refused_at(plan), key);
    EXPECT_EQ(refused_at(wire_plan(Sharding::none, GradientWire::fp32)), "accepted") << "as they are summed";
    plan = wire_plan(Sharding::none, GradientWire::as_summed);
    plan.strategy.compression_ratio = 4;
    EXPECT_EQ(refused_at(plan), "/strategy/compression_ratio") << "of nothing";
    plan.strategy.compression = Compression::by_ratio;
    EXPECT_EQ(refused_at(plan), "accepted");
}

}  // namespace
}  // namespace orrery::strategies
