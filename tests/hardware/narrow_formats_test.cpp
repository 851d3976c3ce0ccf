#include "hardware/narrow_formats.hpp"

#include <gtest/gtest.h>

#include "hardware/compute_capability.hpp"

namespace orrery::hardware {
namespace {

/// Of the milliseconds that Transformer Engine prints of a layer's products on B300; casts over what a stream of 7.35
/// TB/s takes of 2.483 billion elements, 4 bytes each and 6 where maxima come first.
TEST(NarrowFormats, AreThoseOfTransformerEnginesBenchmarkOnBlackwell) {
    const auto of = [](Scales scales) { return narrow_times(scales, blackwell); };
    constexpr double element = 2.483028e9 / 7.35e12 * 1e3;
    EXPECT_NEAR(of(Scales::delayed).cast, (7.802 - 6.812) / (4 * element), 1e-6);
    EXPECT_NEAR(of(Scales::current).cast, (9.147 - 6.812) / (6 * element), 1e-6);
    EXPECT_NEAR(of(Scales::mxfp8).cast, (8.984 - 7.162) / (4 * element), 1e-6);
    EXPECT_NEAR(of(Scales::nvfp4).cast, (6.453 - 3.764) / (6 * element), 1e-6);
    EXPECT_FALSE(of(Scales::mxfp8).origin.empty());
}

/// Tables of B200 and GB200 are of forward products, those of B300 and GB300 of all that a layer has.
TEST(NarrowFormats, ProductsAreSlowerBackwardAndInBlocksOf32) {
    const NarrowTimes current = narrow_times(Scales::current, blackwell),
                      mxfp8 = narrow_times(Scales::mxfp8, blackwell);
    EXPECT_EQ(current.forward, 1);
    EXPECT_NEAR(current.data_gradient, 2.329 / 2.158, 1e-9);
    EXPECT_NEAR(current.weight_gradient, 2.325 / 2.158, 1e-9);
    EXPECT_NEAR(mxfp8.forward, 2.365 / 2.158, 1e-9);
    EXPECT_EQ(narrow_times(Scales::nvfp4, blackwell).forward, 1);
    const auto mean = [](const NarrowTimes& t) { return (t.forward + t.data_gradient + t.weight_gradient) / 3; };
    EXPECT_NEAR(mean(narrow_times(Scales::current, blackwell_ultra)), 1, 1e-9);
    EXPECT_NEAR(mean(narrow_times(Scales::nvfp4, blackwell_ultra)), 1, 1e-9);
    EXPECT_NEAR(mean(narrow_times(Scales::mxfp8, blackwell_ultra)), 7.162 / 6.812, 1e-9);
}

/// Multi-stream cuBLASLt of experts in MXFP8 on a GB200: 2,672 TFLOP/s at 7,168 x 2,048 (Megatron-LM,
/// docs/discussions/deepseek-v3-gb200-optimization), 2,907 being the table's best.
TEST(NarrowFormats, AgreeWithWhatMegatronLmReadOnGb200) {
    EXPECT_NEAR(2907 / narrow_times(Scales::mxfp8, blackwell).forward / 2672, 1, 0.02);
}

/// The same benchmark's H200: 20.285 ms with casts and 16.785 without (current), 18.978 with (delayed), where our
/// kernels' bytes at BabelStream's 4.15 TB/s come to 3.59 and 2.39 ms.
TEST(NarrowFormats, BeforeBlackwellCastsTakeWhatTheirBytesDo) {
    EXPECT_EQ(narrow_times(Scales::current, hopper).cast, 1);
    EXPECT_EQ(narrow_times(Scales::delayed, hopper).forward, 1);
    constexpr double element = 2.483028e9 / 4.15e12 * 1e3;
    EXPECT_NEAR((20.285 - 16.785) / (6 * element), 1, 0.05);
    EXPECT_NEAR((18.978 - 16.785) / (4 * element), 1, 0.1);
}

}  // namespace
}  // namespace orrery::hardware
