// Memory, copies, streams, marks and clocks of a GPU.
#include "kernels/device.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "tests/gpu/gpu.hpp"

namespace orrery::kernels {
namespace {

class GpuDevice : public GpuTest {
protected:
    /// Memory of the device or of the host, released at the end of the test.
    void* device_memory(std::uint64_t bytes) { return device_.emplace_back(gpu().allocate(bytes)); }
    std::byte* host_memory(std::uint64_t bytes) {
        return static_cast<std::byte*>(host_.emplace_back(gpu().allocate_host(bytes)));
    }

    void TearDown() override {
        if (cuda::gpus() == 0) return;
        gpu().synchronize();
        for (void* memory : device_) gpu().release(memory);
        for (void* memory : host_) gpu().release_host(memory);
    }

    static void randomize(std::byte* memory, std::uint64_t bytes, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        for (std::uint64_t i = 0; i < bytes; ++i) memory[i] = static_cast<std::byte>(random());
    }

    /// Seconds that the GPU needs to clear `bytes`, `times` over: the least of several tries, since others may use it.
    double seconds_to_clear(std::uint64_t bytes, int times) {
        void* const memory = device_memory(bytes);
        const Pointwise fill{PointwiseKind::fill, Dtype::fp32, 1, bytes / 4};
        double least = std::numeric_limits<double>::infinity();
        for (int attempt = 0; attempt < 10; ++attempt) {
            const Device::Mark from = gpu().mark(0);
            for (int i = 0; i < times; ++i) gpu().launch(fill, std::array{memory}, 0);
            const Device::Mark to = gpu().mark(0);
            gpu().synchronize();
            least = std::min(least, gpu().seconds(from, to));
            gpu().forget(std::array{from, to});
        }
        return least;
    }

private:
    std::vector<void*> device_, host_;
};

TEST_F(GpuDevice, TellsWhatItIs) {
    const DeviceFacts& facts = gpu().facts();
    EXPECT_EQ(facts.kind, "cuda");
    EXPECT_FALSE(facts.name.empty());
    EXPECT_NE(facts.software.find("cuBLASLt"), std::string::npos) << facts.software;
    EXPECT_GT(facts.memory_bytes, 1ull << 30);
    EXPECT_GT(facts.cache_bytes, 1ull << 20);
    EXPECT_GT(facts.multiprocessors, 0u);
}

TEST_F(GpuDevice, MemoryIsAligned) {
    for (const std::uint64_t bytes : {0, 1, 100, 4097})
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(device_memory(bytes)) % 256, 0u) << bytes;
}

TEST_F(GpuDevice, CopiesWhatItIsGiven) {
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{4099}, std::uint64_t{64} << 20}) {
        SCOPED_TRACE(bytes);
        std::byte* const from = host_memory(bytes);
        std::byte* const to = host_memory(bytes);
        void* const a = device_memory(bytes);
        void* const b = device_memory(bytes);
        randomize(from, bytes, bytes);
        std::memset(to, 0, bytes);
        gpu().copy(CopyKind::host_to_device, a, from, bytes, 0);
        gpu().copy(CopyKind::device_to_device, b, a, bytes, 0);
        gpu().copy(CopyKind::device_to_host, to, b, bytes, 0);
        gpu().synchronize();
        EXPECT_EQ(std::memcmp(from, to, bytes), 0);
    }
}

TEST_F(GpuDevice, CopiesBothWaysAtOnce) {
    constexpr std::uint64_t bytes = 32u << 20;
    std::byte* const up = host_memory(bytes);
    std::byte* const down = host_memory(bytes);
    std::byte* const back = host_memory(bytes);
    void* const a = device_memory(bytes);
    void* const b = device_memory(bytes);
    randomize(up, bytes, 1);
    gpu().copy(CopyKind::host_to_device, b, up, bytes, 0);
    gpu().synchronize();
    randomize(up, bytes, 2);
    std::memset(down, 0, bytes);
    gpu().copy(CopyKind::host_to_device, a, up, bytes, 0);
    gpu().copy(CopyKind::device_to_host, down, b, bytes, 1);
    gpu().copy(CopyKind::device_to_host, back, a, bytes, 0);
    gpu().synchronize();
    EXPECT_EQ(std::memcmp(up, back, bytes), 0);
    randomize(up, bytes, 1);
    EXPECT_EQ(std::memcmp(up, down, bytes), 0);
}

TEST_F(GpuDevice, AStreamWaitsForAnother) {
    constexpr std::uint64_t bytes = 512u << 20;  // long enough that a copy which does not wait would see old bytes
    void* const memory = device_memory(bytes);
    std::byte* const last = host_memory(4);
    const Pointwise fill{PointwiseKind::fill, Dtype::fp32, 1, bytes / 4};
    for (int repeat = 0; repeat < 5; ++repeat) {
        std::memset(last, 0xff, 4);
        gpu().copy(CopyKind::host_to_device, static_cast<std::byte*>(memory) + bytes - 4, last, 4, 2);
        gpu().wait(1, 2);
        for (int i = 0; i < 8; ++i) gpu().launch(fill, std::array{memory}, 1);
        gpu().wait(2, 1);
        gpu().copy(CopyKind::device_to_host, last, static_cast<std::byte*>(memory) + bytes - 4, 4, 2);
        gpu().synchronize();
        std::uint32_t word = 1;
        std::memcpy(&word, last, 4);
        EXPECT_EQ(word, 0u) << "repeat " << repeat;
    }
}

TEST_F(GpuDevice, MarksTellTheTimeOfTheGpu) {
    constexpr std::uint64_t bytes = 1u << 30;
    const double once = seconds_to_clear(bytes, 2), often = seconds_to_clear(bytes, 16);
    // No memory of a GPU today is slower than 10 GB/s or faster than 100 TB/s.
    EXPECT_GT(once, 2 * bytes / 100e12);
    EXPECT_LT(once, 2 * bytes / 10e9);
    EXPECT_GT(often, once) << "eight times the work";
}

TEST_F(GpuDevice, MarksCanBeUsedAgainAndAgain) {
    for (int i = 0; i < 10000; ++i) {
        const Device::Mark from = gpu().mark(0), to = gpu().mark(0);
        gpu().synchronize();
        ASSERT_GE(gpu().seconds(from, to), 0.0) << i;
        gpu().forget(std::array{from, to});
        ASSERT_LT(std::max(from, to), 4u) << "forgotten marks are given out again";
    }
}

/// The origin of moments moves when a second has passed: times across it must agree.
TEST_F(GpuDevice, MomentsFollowTheWallClock) {
    const std::array from{gpu().mark(0)};
    gpu().synchronize();
    const double first = gpu().moment(from[0]);
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));
    gpu().synchronize();  // the origin moves
    const std::array to{gpu().mark(0)};
    gpu().synchronize();
    EXPECT_NEAR(gpu().moment(from[0]), first, 1e-5);
    EXPECT_GT(gpu().moment(to[0]) - gpu().moment(from[0]), 1.2);
    gpu().forget(from);
    gpu().forget(to);
}

TEST_F(GpuDevice, ClocksAreThoseOfAGpuOrUnknown) {
    const ClockReading reading = gpu().clocks();
    if (reading.core_hertz == 0) GTEST_SKIP() << "NVML does not answer here";
    EXPECT_GT(reading.core_hertz, 100e6);
    EXPECT_LT(reading.core_hertz, 5e9);
    EXPECT_GT(reading.memory_hertz, 100e6);
    EXPECT_LT(reading.memory_hertz, 50e9);
    EXPECT_LT(reading.celsius, 120);
    EXPECT_LT(reading.watts, 3000);
}

TEST_F(GpuDevice, HeldWorkBeginsWhenItMay) {
    void* const memory = device_memory(4096);
    const Pointwise fill{PointwiseKind::fill, Dtype::fp32, 1, 1024};
    for (int repeat = 0; repeat < 3; ++repeat) {
        const Device::Mark before = gpu().mark(1);
        gpu().hold(1);
        const Device::Mark from = gpu().mark(1);
        for (int i = 0; i < 100; ++i) gpu().launch(fill, std::array{memory}, 1);
        const Device::Mark to = gpu().mark(1);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        gpu().proceed();
        gpu().synchronize();
        EXPECT_GE(gpu().seconds(before, from), 0.015);
        EXPECT_LT(gpu().seconds(from, to), 0.015) << "100 kernels that lay ready";
        gpu().forget(std::array{before, from, to});
    }
}

TEST_F(GpuDevice, CountsItsClock) {
    const double hertz = gpu().core_hertz_behind(0);
    EXPECT_GT(hertz, 100e6);
    EXPECT_LT(hertz, 5e9);
}

TEST_F(GpuDevice, GoesOnAfterAnAllocationThatFails) {
    EXPECT_THROW(static_cast<void>(gpu().allocate(1ull << 50)), DeviceError);
    expect_right(Pointwise{PointwiseKind::add, Dtype::fp32, 16, 64}, 1);
}

TEST_F(GpuDevice, RefusesOperandsThatAreNotAligned) {
    auto* const memory = static_cast<std::byte*>(device_memory(4096));
    const std::array<void*, 2> operands{memory, memory + 2052};
    EXPECT_THROW(gpu().launch(Pointwise{PointwiseKind::scale, Dtype::fp32, 4, 64}, operands, 0), DeviceError);
}

}  // namespace
}  // namespace orrery::kernels
