// Every kernel of the CPU device against the reference, over random shapes.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <thread>

#include "base/error.hpp"
#include "kernels/device.hpp"
#include "kernels/operand_memory.hpp"
#include "kernels/verify.hpp"

namespace orrery::kernels {
namespace {

constexpr std::uint64_t seed = 2024;
constexpr std::array formats{Dtype::fp32, Dtype::bf16, Dtype::fp16};

class Draw {
public:
    explicit Draw(std::uint64_t from) : random_(from) {}
    /// In [low, high], small numbers as likely as large ones.
    std::uint32_t extent(double low, double high) {
        std::uniform_real_distribution<double> logarithm(std::log(low), std::log(high + 1));
        return static_cast<std::uint32_t>(std::exp(logarithm(random_)));
    }
    bool coin() { return random_() % 2 == 0; }

private:
    std::mt19937_64 random_;
};

std::vector<std::string> device_names() {
    if (std::thread::hardware_concurrency() < 2) return {"cpu"};
    return {"cpu", "cpu:2"};
}

void expect_right(Device& device, const Kernel& kernel, std::uint64_t with) {
    SCOPED_TRACE(to_text(kernel));
    ASSERT_TRUE(device.supports(kernel));
    const Verification found = verify(device, kernel, with);
    EXPECT_TRUE(found.passed()) << found.to_text();
}

TEST(CpuDevice, MemoryBoundKernelsAreRight) {
    SCOPED_TRACE(seed);
    for (const std::string& name : device_names()) {
        const auto device = open_device(name);
        Draw draw(seed);
        for (int kind = 0; kind < pointwise_kinds; ++kind)
            for (int round = 0; round < 12; ++round) {
                // Even: rope takes pairs of columns, permute pairs of rows. From 4 columns on: the gradient of a
                // normalised pair is all cancellation.
                const Pointwise p{static_cast<PointwiseKind>(kind), formats[round % 3], 2ull * draw.extent(1, 120),
                                  2ull * draw.extent(2, 700)};
                expect_right(*device, p, seed + static_cast<std::uint64_t>(round));
            }
    }
}

TEST(CpuDevice, OneRowAndOddWidthsAreRight) {
    const auto device = open_device("cpu");
    for (int kind = 0; kind < pointwise_kinds; ++kind)
        for (const std::uint64_t cols : {4ull, 3ull, 17ull, 33000ull}) {
            for (const Dtype dtype : formats) {
                const Pointwise p{static_cast<PointwiseKind>(kind), dtype, 1, cols};
                if (device->supports(p)) expect_right(*device, p, seed);
            }
        }
}

TEST(CpuDevice, ProductsOfEachPassAreRight) {
    SCOPED_TRACE(seed);
    for (const std::string& name : device_names()) {
        const auto device = open_device(name);
        Draw draw(seed);
        for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient})
            for (int round = 0; round < 10; ++round)
                expect_right(*device,
                             Gemm{formats[round % 3], draw.extent(1, 4), draw.extent(1, 200), draw.extent(1, 200),
                                  draw.extent(1, 300), pass},
                             seed);
    }
}

TEST(CpuDevice, AttentionIsRight) {
    SCOPED_TRACE(seed);
    for (const std::string& name : device_names()) {
        const auto device = open_device(name);
        Draw draw(seed);
        for (int round = 0; round < 24; ++round) {
            const std::uint32_t kv_heads = draw.extent(1, 3);
            const Attention a{.dtype = formats[round / 2 % 3],
                              .backward = round % 2 == 1,
                              .causal = draw.coin(),
                              .batch = draw.extent(1, 2),
                              .seq = draw.extent(1, 700),
                              .heads = kv_heads * draw.extent(1, 3),
                              .kv_heads = kv_heads,
                              .head_dim = draw.extent(1, 80)};
            expect_right(*device, a, seed);
        }
    }
}

TEST(CpuDevice, StreamsKeepTheirOrderAndWaitForEachOther) {
    const auto device = open_device("cpu");
    constexpr std::uint64_t count = 1 << 20;
    const Pointwise add{PointwiseKind::add, Dtype::fp32, 1, count};
    OperandMemory memory(*device, add);
    memory.fill(seed);
    const std::span<void* const> abc = memory.pointers();
    const std::vector<void*> aac{abc[0], abc[0], abc[2]}, ccb{abc[2], abc[2], abc[1]}, bba{abc[1], abc[1], abc[0]};
    const float first = static_cast<const float*>(abc[0])[count - 1];
    device->launch(add, aac, 1);  // c = 2a
    device->wait(2, 1);
    device->launch(add, ccb, 2);  // b = 2c
    device->wait(0, 2);
    device->launch(add, bba, 0);  // a = 2b
    device->wait(3, 0);
    device->launch(add, aac, 3);  // c = 2a
    device->synchronize();
    EXPECT_EQ(static_cast<const float*>(abc[2])[count - 1], 16 * first);
}

TEST(CpuDevice, AFailureOnAStreamIsThrownWhenSynchronising) {
    const auto device = open_device("cpu");
    bool later = false;
    device->run([] { throw DeviceError("lost", "look for it"); }, 1);
    device->run([&later] { later = true; }, 1);
    EXPECT_THROW(device->synchronize(), DeviceError);
    EXPECT_TRUE(later);
    EXPECT_NO_THROW(device->synchronize());  // told once
    EXPECT_THROW(device->run([] {}, 1000), Error);
}

TEST(CpuDevice, MarksTellTheTimeOfTheirStream) {
    const auto device = open_device("cpu");
    const Gemm gemm{Dtype::fp32, 1, 256, 256, 256};
    OperandMemory memory(*device, gemm);
    memory.fill(seed);
    for (const Stream stream : {0u, 1u}) {
        const Device::Mark from = device->mark(stream);
        device->launch(gemm, memory.pointers(), stream);
        const Device::Mark between = device->mark(stream), to = device->mark(stream);
        device->synchronize();
        const double nothing = device->seconds(between, to);
        EXPECT_GE(nothing, 0.0);
        EXPECT_GE(device->seconds(from, to), nothing);
        device->forget(std::array{from, between, to});
        EXPECT_THROW((void)device->seconds(from, to), DeviceError);
    }
}

TEST(CpuDevice, AStreamsOwnThreadIsServedAtOnce) {
    const auto device = open_device("cpu");
    ASSERT_TRUE(device->streams_are_threads());
    const Pointwise fill{PointwiseKind::fill, Dtype::fp32, 1, 64};
    OperandMemory memory(*device, fill);
    memory.fill(seed);
    auto* const first = static_cast<float*>(memory.pointers()[0]);
    bool cleared = false;
    Device::Mark mark = 0;
    device->run(
        [&] {
            *first = 1;
            device->launch(fill, memory.pointers(), 3);
            mark = device->mark(3);
            cleared = *first == 0 && device->moment(mark) > 0;
        },
        3);
    device->synchronize();
    EXPECT_TRUE(cleared);
    device->forget(std::array{mark});
}

TEST(CpuDevice, RefusesWhatItCannotDo) {
    EXPECT_THROW(open_device("cpu:0"), Error);
    EXPECT_THROW(open_device("cpu:"), Error);
    EXPECT_THROW(open_device("cpu:two"), Error);
    EXPECT_THROW(open_device("cpu:99999"), Error);
    EXPECT_THROW(open_device("abacus"), Error);
    const auto device = open_device("cpu");
    for (const Dtype dtype : {Dtype::tf32, Dtype::fp8, Dtype::fp4})
        EXPECT_FALSE(device->supports(Gemm{dtype, 1, 2, 2, 2}));
    EXPECT_FALSE(device->supports(Pointwise{PointwiseKind::rope, Dtype::fp32, 2, 3}));
    EXPECT_THROW(device->launch(Gemm{Dtype::fp8, 1, 2, 2, 2}, {}, 0), Error);
    EXPECT_THROW(device->launch(Gemm{Dtype::fp32, 1, 2, 2, 2}, {}, 0), Error);
    EXPECT_THROW((void)device->allocate(1ull << 60), DeviceError);
}

TEST(CpuDevice, KnowsItsMachine) {
    const auto device = open_device("cpu");
    EXPECT_EQ(device->facts().kind, "cpu");
    EXPECT_FALSE(device->facts().name.empty());
    EXPECT_NE(device->facts().software.find("oneDNN"), std::string::npos);
    EXPECT_GT(device->facts().memory_bytes, 1u << 28);
    EXPECT_EQ(device->facts().multiprocessors, 1u);
    EXPECT_GE(device->clocks().core_hertz, 0.0);
}

}  // namespace
}  // namespace orrery::kernels
