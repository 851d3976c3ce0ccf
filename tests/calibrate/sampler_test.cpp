// The sampler on a device whose times are known.
#include "calibrate/measure/sampler.hpp"

#include <gtest/gtest.h>

#include "tests/calibrate/pretended_device.hpp"

namespace orrery::calibrate {
namespace {

constexpr kernels::Gemm product{kernels::Dtype::fp32, 1, 64, 64, 64};
const kernels::Kernel kernel{product};
constexpr StopRule rule{.target = 0.005, .min_samples = 5, .max_samples = 400, .max_seconds = 10};

Record measure(PretendedDevice& device, const Subject& subject) {
    return Sampler(device, nullptr, rule, device.surroundings()).measure(subject);
}

TEST(Sampler, FindsTheTimeBehindTheNoise) {
    PretendedDevice device({.noise = 0.02});
    const Record record = measure(device, kernel);
    EXPECT_EQ(record.failure, "");
    EXPECT_TRUE(record.settled);
    EXPECT_NEAR(record.seconds / PretendedDevice::seconds_of(kernel), 1, 0.015);
    EXPECT_EQ(record.core_hertz, 1.5e9);
    EXPECT_EQ(record.throttled, 0U);
}

TEST(Sampler, DropsAndCountsThrottledSamples) {
    PretendedDevice device({.noise = 0, .throttled_from = 2, .throttled_to = 9});
    const Record record = measure(device, kernel);
    EXPECT_EQ(record.throttled, 7U);
    EXPECT_NEAR(record.seconds / PretendedDevice::seconds_of(kernel), 1, 1e-9);
    EXPECT_GT(device.slept(), 0);  // the device is left to cool
}

TEST(Sampler, GivesUpOnADeviceThatIsAlwaysThrottled) {
    PretendedDevice device({.throttled_from = 0, .throttled_to = 1000000});
    const Record record = measure(device, kernel);
    EXPECT_NE(record.failure.find("hardware thermal"), std::string::npos) << record.failure;
}

TEST(Sampler, KeepsAndCountsWhatRunsAtThePowerLimit) {
    PretendedDevice device({.noise = 0, .throttled_from = 0, .throttled_to = 1000000, .reason = kernels::power_cap});
    const Record record = measure(device, kernel);
    EXPECT_EQ(record.failure, "");
    EXPECT_EQ(record.throttled, 0U);
    EXPECT_EQ(record.capped, record.samples);
    EXPECT_NEAR(record.seconds / PretendedDevice::seconds_of(kernel), 1.5, 1e-9);
    EXPECT_EQ(record.core_hertz, 1.1e9) << "the clock under the work";
}

/// Into sums in fp32 that stand there, whatever the format of the operands.
TEST(Sampler, FormsWeightGradientsAsTrainingDoes) {
    using kernels::Dtype;
    for (const Dtype dtype : {Dtype::fp32, Dtype::bf16}) {
        PretendedDevice device({.noise = 0});
        (void)measure(device, kernels::Kernel(kernels::Gemm{dtype, 1, 64, 32, 16, kernels::GemmPass::weight_gradient}));
        EXPECT_TRUE(device.settings().accumulate);
        EXPECT_EQ(device.settings().result.value_or(Dtype::fp32), Dtype::fp32);
        EXPECT_EQ(device.settings().result.has_value(), dtype == Dtype::bf16);
    }
    PretendedDevice device({.noise = 0});
    (void)measure(device, kernel);
    EXPECT_EQ(device.settings(), kernels::Settings{});
}

TEST(Sampler, LeavesTheLaunchOutOfAGpusSamples) {
    PretendedDevice device({.noise = 0, .launch = 5e-6});
    const Record record = measure(device, kernel);
    EXPECT_GE(device.holds(), record.samples);
    EXPECT_NEAR(record.seconds / PretendedDevice::seconds_of(kernel), 1, 1e-9);
}

TEST(Sampler, TakesTheMiddleOfHotAndColdOnACpu) {
    PretendedDevice device({.kind = "cpu", .noise = 0, .cold_factor = 3});
    const Record record = measure(device, kernel);
    const double hot = PretendedDevice::seconds_of(kernel);
    EXPECT_NEAR(record.seconds / hot, 2, 0.02);
    EXPECT_NEAR(record.half_width, 0.5, 0.01);
}

TEST(Sampler, TakesColdOperandsOnAGpu) {
    PretendedDevice device({.noise = 0, .cold_factor = 3});
    const Record record = measure(device, kernel);
    EXPECT_NEAR(record.seconds / PretendedDevice::seconds_of(kernel), 3, 0.01);
    EXPECT_LT(record.half_width, 0.01);
}

TEST(Sampler, MeasuresCopies) {
    PretendedDevice device({.noise = 0});
    const Record record = measure(device, CopyShape{kernels::CopyKind::device_to_host, 1U << 20U});
    EXPECT_NEAR(record.seconds / (3e-6 + (1U << 20U) / 50e9), 1, 1e-6);
}

TEST(Sampler, FindsTheGapBetweenKernels) {
    PretendedDevice device({.noise = 0, .gap = 1.5e-6});
    const Record record = measure(device, OverheadShape{OverheadShape::Kind::gap});
    // Start-up of a kernel counts as gap: it too is paid once per kernel.
    EXPECT_NEAR(record.seconds, 1.5e-6 + 2e-6, 1e-8);
}

TEST(Sampler, FindsHowMuchSlowerThingsRunTogether) {
    PretendedDevice device({.noise = 0, .slowed_beside = 1.25});
    const kernels::Kernel large = kernels::Gemm{kernels::Dtype::bf16, 1, 1024, 1024, 1024};
    const Record record =
        measure(device, OverlapShape{large, CopyShape{kernels::CopyKind::device_to_host, 16U << 20U}});
    EXPECT_NEAR(record.kernel_slowdown, 1.25, 0.01);
    EXPECT_NEAR(record.beside_slowdown, 1.25, 0.03);
}

TEST(Sampler, SustainsForAsLongAsAsked) {
    PretendedDevice device({.noise = 0.01});
    const Record record = measure(device, SustainedShape{product, 2});
    EXPECT_NEAR(record.seconds / PretendedDevice::seconds_of(kernel), 1, 0.01);
    EXPECT_GE(device.surroundings().wall_seconds(), 2);
}

TEST(Sampler, SaysWhenACollectiveHasNoRanks) {
    PretendedDevice device({});
    const Record record = measure(device, CollectiveShape{kernels::CollectiveKind::all_reduce, 8, 1024});
    EXPECT_NE(record.failure.find("needs 8 ranks"), std::string::npos) << record.failure;
}

TEST(ClockFilter, DropsALowClockWithoutAReason) {
    ClockFilter filter;
    EXPECT_TRUE(filter.accept({.core_hertz = 1.9e9}, {.core_hertz = 2e9}));
    EXPECT_FALSE(filter.accept({.core_hertz = 2e9}, {.core_hertz = 1.7e9}));
    EXPECT_TRUE(filter.accept({}, {}));  // a device that does not tell
}

TEST(SetsFor, LeavesTheCacheWithinTheMemory) {
    const kernels::DeviceFacts facts{.kind = "cpu", .memory_bytes = 1U << 30U, .cache_bytes = 32U << 20U};
    EXPECT_EQ(sets_for(16U << 20U, facts), 5U);
    EXPECT_EQ(sets_for(200U << 20U, facts), 1U);
    EXPECT_EQ(sets_for(1024, facts), 2048U);
}

}  // namespace
}  // namespace orrery::calibrate
