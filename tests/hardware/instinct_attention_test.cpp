#include "hardware/instinct_attention.hpp"

#include <gtest/gtest.h>

namespace orrery::hardware {
namespace {

TEST(InstinctAttention, TheTableIsTheFastest) {
    for (const Socket socket : {Socket::oam_mi250, Socket::oam_mi300, Socket::oam_mi350})
        for (int k = 0; k <= static_cast<int>(AttentionKernel::cudnn_9_17); ++k) {
            const AttentionRates rates = instinct_attention_rates(static_cast<AttentionKernel>(k), socket);
            EXPECT_GT(rates.forward, 0);
            EXPECT_LE(rates.forward, 1);
            EXPECT_LE(rates.backward, 1);
            EXPECT_FALSE(rates.origin.empty());
        }
}

TEST(InstinctAttention, PyTorchsOwnIsSlowerThanComposableKernelOnMi355) {
    const auto rate = [](AttentionKernel kernel, Socket socket) { return instinct_attention_rates(kernel, socket); };
    EXPECT_LT(rate(AttentionKernel::flash_triton, Socket::oam_mi350).backward,
              rate(AttentionKernel::flash_2, Socket::oam_mi350).backward);
    EXPECT_EQ(rate(AttentionKernel::flash_triton, Socket::oam_mi300).forward, 0.64);
    EXPECT_EQ(rate(AttentionKernel::newest, Socket::oam_mi350).backward, 1);
}

}  // namespace
}  // namespace orrery::hardware
