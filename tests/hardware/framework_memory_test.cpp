#include "hardware/framework_memory.hpp"

#include <gtest/gtest.h>

namespace orrery::hardware {

namespace {

constexpr std::uint64_t mib = 1ULL << 20U;

}  // namespace

/// What Megatron-LM's tests leave allocated beside the states: 68 MiB on A100 and 96 on H100, without Transformer
/// Engine 64 on both.
TEST(FrameworkMemory, WorkspacesOfDeterministicProducts) {
    EXPECT_EQ(framework_memory(Software::transformer_engine, 80, true, 0).workspaces, 68 * mib);
    EXPECT_EQ(framework_memory(Software::transformer_engine, 90, true, 0).workspaces, 96 * mib + 1024);
    EXPECT_EQ(framework_memory(Software::megatron_lm, 80, true, 0).workspaces, 64 * mib);
    EXPECT_EQ(framework_memory(Software::megatron_lm, 90, true, 0).workspaces, 64 * mib);
}

TEST(FrameworkMemory, WorkspacesFollowTheGeneration) {
    EXPECT_EQ(framework_memory(Software::megatron_lm, 80, false, 0).workspaces, 2 * (8 * mib + 128 * 1024));
    EXPECT_EQ(framework_memory(Software::megatron_lm, 100, false, 0).workspaces, 64 * mib);
    EXPECT_EQ(framework_memory(Software::tensorflow, 70, false, 0).workspaces, 0U);
}

/// NCCL, issue 964: 688 MB for a group of more than two A100 in a node.
TEST(FrameworkMemory, ACommunicatorsBuffersAreWhatWasMeasured) {
    const auto one = static_cast<double>(framework_memory(Software::megatron_lm, 80, false, 1).communicators);
    EXPECT_NEAR(one / static_cast<double>(mib), 688, 30);
    EXPECT_EQ(framework_memory(Software::megatron_lm, 80, false, 3).communicators, 3 * static_cast<std::uint64_t>(one));
    EXPECT_EQ(framework_memory(Software::megatron_lm, 80, false, 0).communicators, 0U);
}

TEST(FrameworkMemory, NothingWhereThereIsNoCuda) {
    EXPECT_EQ(framework_memory(Software::megatron_lm, 0, true, 5), FrameworkMemory{});
    EXPECT_EQ(framework_memory(Software::orrery, 90, true, 5), FrameworkMemory{});
}

TEST(FrameworkMemory, DeepSpeedsBucketsAreAtMostTheirSize) {
    EXPECT_EQ(deepspeed_buffers(400'000'000), 800'000'000U) << "less than a bucket: all twice";
    EXPECT_EQ(deepspeed_buffers(2'000'000'000), 2'000'000'000U) << "two rounds of one bucket each";
}

}  // namespace orrery::hardware
