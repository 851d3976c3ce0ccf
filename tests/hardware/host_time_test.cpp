// Host time per kernel: software's own and the driver's, kept apart.
#include "hardware/host_time.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/enum_table.hpp"
#include "base/error.hpp"

namespace orrery::hardware {
namespace {

constexpr double us = 1e-6;

/// What README.md's table adds up to.
TEST(HostTime, OfMegatronIsPythonSwitchesAndLaunches) {
    const auto shipped = [](HostProcessor p) { return dispatch_seconds(Software::megatron_lm, p, launch_seconds(p)); };
    EXPECT_NEAR(shipped(HostProcessor::xeon_e5_2698_v4), 50 * us, 1e-17);
    EXPECT_NEAR(shipped(HostProcessor::epyc_7742), 48 * us, 1e-17);
    EXPECT_NEAR(shipped(HostProcessor::xeon_8480c), 32 * us, 1e-17);
    EXPECT_NEAR(shipped(HostProcessor::xeon_8570), 30 * us, 1e-17);
    EXPECT_NEAR(shipped(HostProcessor::grace), 32 * std::sqrt(37.08 / 13.48 * 197.4 / 181.7) * us, 0.005 * us);
    EXPECT_EQ(shipped(HostProcessor::none), 0);
}

/// Three quarters of a layer's kernels take three times as long.
TEST(HostTime, OfTransformerEngineIsTwoAndAHalfTimesThatOfPlainLayers) {
    for (const HostProcessor p : {HostProcessor::epyc_7742, HostProcessor::xeon_8480c, HostProcessor::grace}) {
        const auto of = [&](Software software) { return dispatch_seconds(software, p, launch_seconds(p)); };
        EXPECT_NEAR(of(Software::transformer_engine), 2.5 * of(Software::megatron_lm), 1e-15);
        EXPECT_DOUBLE_EQ(of(Software::tensorflow), launch_seconds(p));
    }
}

TEST(HostTime, OfAFrameworkNeverForgetsItWhenADeviceMeasuresAShorterLaunch) {
    const auto host = HostProcessor::epyc_7742;
    const double measured = 2.5 * us;
    EXPECT_DOUBLE_EQ(dispatch_seconds(Software::orrery, host, measured), measured);
    EXPECT_NEAR(dispatch_seconds(Software::megatron_lm, host, measured), (33.6 + 1.6 * 2.5) * us, 1e-17);
}

TEST(HostTime, HasAnOriginForEverySoftwareAndProcessor) {
    for (std::size_t s = 0; s < enumerators<Software>; ++s)
        for (std::size_t p = 0; p < enumerators<HostProcessor>; ++p) {
            const HostTime& time = host_time(static_cast<Software>(s), static_cast<HostProcessor>(p));
            EXPECT_FALSE(time.origin.empty()) << s << " on " << p;
            EXPECT_GE(time.seconds, 0);
        }
}

TEST(Software, IsFoundByName) {
    for (std::size_t i = 0; i < enumerators<Software>; ++i)
        EXPECT_EQ(software_from(name(static_cast<Software>(i))), static_cast<Software>(i));
    EXPECT_THROW(software_from("Megatron"), Error);
    EXPECT_EQ(software_names(), "megatron-lm, transformer-engine, tensorflow, orrery");
}

}  // namespace
}  // namespace orrery::hardware
