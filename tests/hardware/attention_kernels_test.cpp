#include "hardware/attention_kernels.hpp"

#include <gtest/gtest.h>

#include "base/enum_table.hpp"

namespace orrery::hardware {
namespace {

TEST(AttentionKernels, EarlierOnesAreNoFasterAndHaveAnOrigin) {
    for (const int capability : {70, 80, 90, 100, 103})
        for (std::size_t k = 0; k < enumerators<AttentionKernel>; ++k) {
            const AttentionRates rates = attention_rates(static_cast<AttentionKernel>(k), capability);
            EXPECT_GT(rates.forward, 0.2);
            EXPECT_LE(rates.forward, 1);
            EXPECT_LE(rates.backward, 1);
            EXPECT_FALSE(rates.origin.empty());
        }
}

TEST(AttentionKernels, TablesAreOfFlashAttention2OnAmpereAnd3OnHopper) {
    EXPECT_EQ(attention_rates(AttentionKernel::flash_2, 80).forward, 1);
    EXPECT_EQ(attention_rates(AttentionKernel::flash_1, 80).forward, 0.5);
    EXPECT_NEAR(attention_rates(AttentionKernel::flash_triton, 80).forward, 1 / 1.4, 1e-12);
    EXPECT_EQ(attention_rates(AttentionKernel::flash_triton, 80).backward, 0.5);
    EXPECT_NEAR(attention_rates(AttentionKernel::flash_triton, 90).forward, 0.361, 1e-3);
    EXPECT_NEAR(attention_rates(AttentionKernel::flash_2, 90).forward, 0.506, 1e-3);
    EXPECT_NEAR(attention_rates(AttentionKernel::cudnn, 90).backward, 0.817, 1e-3);
    EXPECT_EQ(attention_rates(AttentionKernel::cudnn, 100).forward, 1);
    EXPECT_EQ(attention_rates(AttentionKernel::newest, 90).backward, 1);
}

}  // namespace
}  // namespace orrery::hardware
