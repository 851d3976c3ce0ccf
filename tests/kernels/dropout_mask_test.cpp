#include "kernels/dropout_mask.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace orrery::kernels {
namespace {

/// Random123 1.14.0, tests/kat_vectors, philox4x32 10.
TEST(Philox, GivesThePublishedNumbers) {
    EXPECT_EQ(philox({0, 0, 0, 0}, 0, 0), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint32_t ones = 0xffffffff;
    EXPECT_EQ(philox({ones, ones, ones, ones}, ones, ones),
              (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
              (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

/// Of n elements the share that stays deviates by sqrt(p (1 - p) / n): within four of these, and so does the mean of
/// what ones become.
TEST(DropoutMask, KeepsTheShareThatItShould) {
    constexpr std::uint64_t n = 1 << 20;
    for (const double rate : {0.0, 0.1, 0.25, 0.5, 0.9, 0.99})
        for (const std::uint64_t seed : {1ULL, 77ULL, 0xabcdef0123456789ULL}) {
            const MaskNumbers numbers(DropoutMask{.probability = rate, .seed = seed, .step = 3, .site = 512});
            std::uint64_t kept = 0;
            double sum = 0;
            for (std::uint64_t i = 0; i < n; ++i) {
                kept += numbers.keeps(i);
                sum += static_cast<double>(numbers.factor(i));
            }
            const double deviation = std::sqrt(rate * (1 - rate) / static_cast<double>(n));
            EXPECT_NEAR(static_cast<double>(kept) / n, 1 - rate, 4 * deviation) << rate << ' ' << seed;
            EXPECT_NEAR(sum / n, 1, 4 * deviation / (1 - rate) + 1e-6) << rate << ' ' << seed;
        }
}

/// Neighbours, and elements of other sites, steps and seeds, agree as often as independent ones do.
TEST(DropoutMask, DrawsEachElementByItself) {
    constexpr std::uint64_t n = 1 << 18;
    const DropoutMask mask{.probability = 0.5, .seed = 9, .step = 4, .site = 3};
    const MaskNumbers numbers(mask);
    const auto agreement = [&](const DropoutMask& other, std::uint64_t apart) {
        const MaskNumbers others(other);
        std::uint64_t same = 0;
        for (std::uint64_t i = 0; i < n; ++i) same += numbers.keeps(i) == others.keeps(i + apart);
        return static_cast<double>(same) / n;
    };
    const double tolerance = 4 * 0.5 / std::sqrt(static_cast<double>(n));
    for (const std::uint64_t apart : {1, 2, 3, 4, 16, 1024}) EXPECT_NEAR(agreement(mask, apart), 0.5, tolerance);
    DropoutMask step = mask, site = mask, seed = mask, high = mask;
    step.step = 5;
    site.site = 4;
    seed.seed = 10;
    high.seed += 1ULL << 40U;
    for (const DropoutMask& other : {step, site, seed, high}) EXPECT_NEAR(agreement(other, 0), 0.5, tolerance);
    EXPECT_EQ(agreement(mask, 0), 1);
}

TEST(DropoutMask, CountsElementsInRuns) {
    const MaskNumbers plain(DropoutMask{.first = 7});
    EXPECT_EQ(plain.place(12), 19U);
    const MaskNumbers runs(DropoutMask{.first = 100, .run = 3, .stride = 10});
    std::multiset<std::uint64_t> places;
    for (std::uint64_t i = 0; i < 6; ++i) places.insert(runs.place(i));
    EXPECT_EQ(places, (std::multiset<std::uint64_t>{100, 101, 102, 110, 111, 112}));
}

}  // namespace
}  // namespace orrery::kernels
