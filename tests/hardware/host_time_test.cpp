// Host time per kernel: software's own and the driver's, kept apart.
#include "hardware/host_time.hpp"

#include <gtest/gtest.h>

#include "base/enum_table.hpp"
#include "base/error.hpp"

namespace orrery::hardware {
namespace {

constexpr double us = 1e-6;

double shipped(Software software, HostProcessor p) { return dispatch_seconds(software, p, launch_seconds(p)); }

/// README.md's table.
TEST(HostTime, OfMegatronIsWhatItsOwnTestsTook) {
    const auto plain = [](HostProcessor p) { return shipped(Software::megatron_lm, p); };
    EXPECT_NEAR(plain(HostProcessor::xeon_e5_2698_v4), 74.8 * us, 0.1 * us);
    EXPECT_NEAR(plain(HostProcessor::epyc_7742), 71.1 * us, 1e-15);
    EXPECT_NEAR(plain(HostProcessor::xeon_8480c), 48.9 * us, 1e-15);
    EXPECT_NEAR(plain(HostProcessor::xeon_8570), 46.9 * us, 0.1 * us);
    EXPECT_NEAR(plain(HostProcessor::grace), 67.5 * us, 1e-15);
    EXPECT_EQ(plain(HostProcessor::none), 0);
}

TEST(HostTime, OfTransformerEngineIsAboutTwiceThatOfPlainLayers) {
    for (const HostProcessor p : {HostProcessor::epyc_7742, HostProcessor::xeon_8480c, HostProcessor::grace}) {
        const double times = shipped(Software::transformer_engine, p) / shipped(Software::megatron_lm, p);
        EXPECT_GT(times, 1.7);
        EXPECT_LT(times, 2.1);
        EXPECT_DOUBLE_EQ(shipped(Software::tensorflow, p), launch_seconds(p));
    }
}

/// TransformerEngine's issue 2053: torch.nn.Linear takes 13.5 us forward on a DGX H100, which set no constant.
TEST(HostTime, OfPyTorchsOperatorsIsThatOfTheirLaunches) {
    for (const HostProcessor p : {HostProcessor::xeon_e5_2698_v4, HostProcessor::epyc_7742, HostProcessor::xeon_8480c,
                                  HostProcessor::xeon_8570, HostProcessor::grace})
        EXPECT_NEAR(shipped(Software::pytorch, p) / launches_of_kernel,
                    shipped(Software::megatron_lm, p) / plain_kernels_per_dispatch, 1e-12);
    EXPECT_NEAR(shipped(Software::pytorch, HostProcessor::xeon_8480c) / launches_of_kernel, 13.5 * us, 1.5 * us);
    EXPECT_EQ(share_of_way(Software::pytorch, Way::forward), share_of_way(Software::megatron_lm, Way::forward));
}

TEST(HostTime, OfAFrameworkNeverForgetsItWhenADeviceMeasuresAShorterLaunch) {
    const auto host = HostProcessor::epyc_7742;
    const double measured = 2.5 * us;
    EXPECT_DOUBLE_EQ(dispatch_seconds(Software::orrery, host, measured), measured);
    EXPECT_NEAR(dispatch_seconds(Software::megatron_lm, host, measured), (71.1 - 1.6 * 9 + 1.6 * 2.5) * us, 1e-15);
}

/// README.md's table: 163 us for the 14 kernels of a forward, 204 for the 27 of a backward.
TEST(HostTime, AForwardCostsMoreThanABackwardAndBothTheMean) {
    const double forward = share_of_way(Software::megatron_lm, Way::forward);
    const double backward = share_of_way(Software::megatron_lm, Way::backward);
    EXPECT_NEAR(forward, 1.30, 0.005);
    EXPECT_NEAR(backward, 0.844, 0.0005);
    EXPECT_NEAR((14 * forward + 27 * backward) / 41, 1, 1e-12);
    EXPECT_EQ(share_of_way(Software::megatron_lm, Way::neither), 1);
    for (const Software other : {Software::transformer_engine, Software::tensorflow, Software::orrery})
        for (const Way way : {Way::forward, Way::backward, Way::neither}) EXPECT_EQ(share_of_way(other, way), 1);
}

TEST(HostTime, LaunchesTakeAsLongEitherWay) {
    const auto host = HostProcessor::xeon_8480c;
    const auto seconds = [&](Way way, double launch) {
        return dispatch_seconds(Software::megatron_lm, host, launch, way);
    };
    for (const Way way : {Way::forward, Way::backward})
        EXPECT_NEAR(seconds(way, 9 * us) - seconds(way, 4 * us), 1.6 * 5 * us, 1e-15);
    EXPECT_GT(seconds(Way::forward, 6 * us), seconds(Way::neither, 6 * us));
    EXPECT_LT(seconds(Way::backward, 6 * us), seconds(Way::neither, 6 * us));
}

/// Hugging Face's Llama has seven linear layers a layer: 1.57 and 2.18 ms around them on the machine that was measured,
/// whose torch.nn.Linear takes 9.3 us (tools/module_hooks.py).
TEST(HostTime, OfDeepSpeedsHooksIsMeasuredInLinearLayers) {
    for (const auto host : {HostProcessor::epyc_7742, HostProcessor::xeon_8480c, HostProcessor::grace}) {
        const double linear = dispatch_seconds(Software::pytorch, host, 0, Way::forward) / launches_of_kernel;
        EXPECT_NEAR(7 * zero3_visit_seconds(host) / linear, 1570 / 9.3, 2);
        EXPECT_NEAR(7 * (zero3_visit_seconds(host) + zero3_bucket_seconds(host)) / linear, 2180 / 9.3, 2);
    }
    EXPECT_EQ(zero3_visit_seconds(HostProcessor::none), 0);
}

TEST(HostTime, HasAnOriginForEverySoftwareAndProcessor) {
    for (std::size_t s = 0; s < enumerators<Software>; ++s)
        for (std::size_t p = 0; p < enumerators<HostProcessor>; ++p) {
            const HostTime& time = host_time(static_cast<Software>(s), static_cast<HostProcessor>(p));
            EXPECT_FALSE(time.origin.empty()) << s << " on " << p;
            EXPECT_GE(time.seconds, 0);
        }
}

}  // namespace
}  // namespace orrery::hardware
