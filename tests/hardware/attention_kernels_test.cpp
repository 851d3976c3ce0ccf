#include "hardware/attention_kernels.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/enum_table.hpp"

namespace orrery::hardware {
namespace {

TEST(AttentionKernels, HaveAnOriginAndRatesThatCanBe) {
    for (const int capability : {70, 80, 90, 100, 103})
        for (const std::uint32_t width : {64U, 128U, 192U})
            for (std::size_t k = 0; k < enumerators<AttentionKernel>; ++k) {
                const AttentionRates rates =
                    attention_rates(static_cast<AttentionKernel>(k), capability, {.head_dim = width});
                const bool slow = capability >= 100 && static_cast<AttentionKernel>(k) != AttentionKernel::newest;
                EXPECT_GT(rates.forward, slow ? 0.1 : 0.2);  // half of FlashAttention-2, which is a third of a table
                const bool later = static_cast<AttentionKernel>(k) == AttentionKernel::cudnn_9_17;
                EXPECT_LE(rates.forward, later ? 1.6 : 1.2);
                EXPECT_LE(rates.backward, later ? 1.5 : 1);
                EXPECT_FALSE(rates.origin.empty());
            }
}

TEST(AttentionKernels, TablesAreOfFlashAttention2OnAmpereAndNewerOnHopper) {
    EXPECT_EQ(attention_rates(AttentionKernel::flash_2, 80, {.head_dim = 128}).forward, 1);
    EXPECT_EQ(attention_rates(AttentionKernel::flash_1, 80, {.head_dim = 128}).forward, 0.5);
    EXPECT_NEAR(attention_rates(AttentionKernel::flash_triton, 80, {.head_dim = 64}).forward, 1 / 1.4, 1e-12);
    EXPECT_EQ(attention_rates(AttentionKernel::flash_triton, 80, {.head_dim = 64}).backward, 0.5);
    EXPECT_NEAR(attention_rates(AttentionKernel::flash_triton, 90, {.head_dim = 128}).forward, 0.527 / 1.4, 1e-12);
    EXPECT_EQ(attention_rates(AttentionKernel::flash_2, 90, {.head_dim = 128}).forward, 0.527);
    EXPECT_EQ(attention_rates(AttentionKernel::cudnn, 90, {.head_dim = 128}).backward, 0.954);
    EXPECT_LT(attention_rates(AttentionKernel::cudnn, 90, {.head_dim = 192}).backward,
              attention_rates(AttentionKernel::cudnn, 90, {.head_dim = 128}).backward)
        << "wide heads";
    EXPECT_EQ(attention_rates(AttentionKernel::cudnn, 100, {.head_dim = 128}).forward, 1);
    EXPECT_EQ(attention_rates(AttentionKernel::newest, 90, {.head_dim = 128}).backward, 1);
}

/// The table of hardware/README.md says what the constants are.
TEST(AttentionKernels, StandInTheReadmeAsTheyAre) {
    std::ifstream file("hardware/README.md");
    std::stringstream text;
    text << file.rdbuf();
    const auto row = [](const char* what, AttentionKernel kernel, std::uint32_t width) {
        const AttentionRates rates = attention_rates(kernel, 90, {.head_dim = width});
        return fmt::format("| {} | {:.1f}% | {:.1f}% |", what, 100 * rates.forward, 100 * rates.backward);
    };
    constexpr const char* wide = "the same, heads wider than 128";
    for (const std::string& line :
         {row("FlashAttention-2 on Hopper", AttentionKernel::flash_2, 128), row(wide, AttentionKernel::flash_2, 192),
          row("cuDNN on Hopper (Transformer Engine)", AttentionKernel::cudnn, 128),
          row(wide, AttentionKernel::cudnn, 192)})
        EXPECT_NE(text.str().find(line), std::string::npos) << line;
}

TEST(AttentionKernels, CudnnGotFasterOnBlackwellAlone) {
    for (const std::uint32_t width : {128U, 192U}) {
        EXPECT_EQ(attention_rates(AttentionKernel::cudnn_9_17, 90, {.head_dim = width}).forward,
                  attention_rates(AttentionKernel::cudnn, 90, {.head_dim = width}).forward);
        EXPECT_GT(attention_rates(AttentionKernel::cudnn_9_17, 100, {.head_dim = width}).forward, 1.3);
    }
    EXPECT_NEAR(attention_rates(AttentionKernel::cudnn_9_17, 100, {.seq = 4096}).forward, 1408.0 / 904, 1e-12);
    EXPECT_GT(attention_rates(AttentionKernel::cudnn_9_17, 103, {.seq = 4096}).backward,
              attention_rates(AttentionKernel::cudnn_9_17, 103, {.seq = 32768}).backward)
        << "it gained most where sequences are short";
}

TEST(AttentionKernels, WhatCudnnWasNotMeasuredForIsAsBefore) {
    for (const AttentionShape& shape : {AttentionShape{.head_dim = 64}, AttentionShape{.window = 128}}) {
        const AttentionRates now = attention_rates(AttentionKernel::cudnn_9_17, 100, shape);
        EXPECT_EQ(now.forward, attention_rates(AttentionKernel::cudnn, 100, shape).forward);
        EXPECT_EQ(now.backward, attention_rates(AttentionKernel::cudnn, 100, shape).backward);
    }
}

TEST(AttentionKernels, DropoutsTakeNewerKernelsMore) {
    for (const int capability : {80, 90, 100}) {
        const AttentionRates flash = attention_dropout(AttentionKernel::flash_2, capability),
                             newest = attention_dropout(AttentionKernel::newest, capability);
        EXPECT_LT(flash.backward, 1);
        EXPECT_LE(newest.backward, flash.backward);
        // Over a table with dropouts, that of the plan's kernel is its rate without one and what its own takes.
        const AttentionRates plain = attention_rates(AttentionKernel::flash_2, capability, {.head_dim = 128}),
                             dropped = attention_rates(AttentionKernel::flash_2, capability, {.dropout = true});
        EXPECT_NEAR(dropped.forward * newest.forward, plain.forward * flash.forward, 1e-12);
        EXPECT_NEAR(dropped.backward * newest.backward, plain.backward * flash.backward, 1e-12);
    }
}

}  // namespace
}  // namespace orrery::hardware
