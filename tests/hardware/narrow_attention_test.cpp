#include "hardware/narrow_attention.hpp"

#include <gtest/gtest.h>

#include "hardware/compute_capability.hpp"

namespace orrery::hardware {
namespace {

using enum AttentionHeads;

/// TFLOP/s that cuDNN's benchmark prints in MXFP8 over those in bf16, of 4,096 tokens.
TEST(NarrowAttention, IsOfCudnnsBenchmark) {
    EXPECT_NEAR(narrow_attention_rate(latent, false, 4096, blackwell), 1925.0 / 1406, 1e-12);
    EXPECT_NEAR(narrow_attention_rate(latent, true, 4096, blackwell_ultra), 1522.0 / 1143, 1e-12);
    EXPECT_NEAR(narrow_attention_rate(grouped, true, 4096, blackwell), 1054.0 / 1148, 1e-12) << "slower than bf16";
    EXPECT_NEAR(narrow_attention_rate(windowed, true, 4096, blackwell), 41.0 / 182, 1e-12)
        << "its backward in fp8 heeds no window";
    EXPECT_NEAR(narrow_attention_rate(latent, false, 4096, hopper), 854.0 / 591, 1e-12) << "of grouped heads";
    EXPECT_EQ(narrow_attention_rate(latent, false, 4096, ampere), 1) << "no such kernel";
}

TEST(NarrowAttention, GoesSmoothlyFromLengthToLength) {
    const double shortest = narrow_attention_rate(latent, false, 2048, blackwell);
    EXPECT_EQ(narrow_attention_rate(latent, false, 128, blackwell), shortest);
    EXPECT_EQ(narrow_attention_rate(latent, false, 1e6, blackwell),
              narrow_attention_rate(latent, false, 32768, blackwell));
    double before = shortest;
    for (double seq = 2048; seq < 40000; seq *= 1.01) {
        const double rate = narrow_attention_rate(latent, false, seq, blackwell);
        EXPECT_NEAR(rate, before, 0.01) << seq;
        before = rate;
    }
}

}  // namespace
}  // namespace orrery::hardware
