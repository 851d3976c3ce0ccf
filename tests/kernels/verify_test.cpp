// verify() sees what a wrong device does: a device that passes everything on and spoils one thing.
#include "kernels/verify.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels {
namespace {

using Spoil = std::function<void(const Kernel&, std::span<void* const>)>;

/// Launches on the real device, then spoils what it wrote.
class SpoiledDevice final : public Device {
public:
    SpoiledDevice(Device& real, Spoil spoil) : real_(real), spoil_(std::move(spoil)) {}

    [[nodiscard]] const DeviceFacts& facts() const override { return real_.facts(); }
    [[nodiscard]] bool supports(const Kernel& kernel) const override { return real_.supports(kernel); }
    void* allocate(std::uint64_t bytes) override { return real_.allocate(bytes); }
    void release(void* memory) noexcept override { real_.release(memory); }
    void* allocate_host(std::uint64_t bytes) override { return real_.allocate_host(bytes); }
    void release_host(void* memory) noexcept override { real_.release_host(memory); }
    void launch(const Kernel& kernel, std::span<void* const> operands, Stream stream,
                const Settings& settings) override {
        real_.launch(kernel, operands, stream, settings);
        real_.synchronize();
        spoil_(kernel, operands);
    }
    void copy(CopyKind kind, void* to, const void* from, std::uint64_t bytes, Stream stream) override {
        real_.copy(kind, to, from, bytes, stream);
    }
    void wait(Stream waiting, Stream on) override { real_.wait(waiting, on); }
    void synchronize() override { real_.synchronize(); }
    Mark mark(Stream stream) override { return real_.mark(stream); }
    double seconds(Mark from, Mark to) override { return real_.seconds(from, to); }
    void wait_for(Stream waiting, Mark mark) override { real_.wait_for(waiting, mark); }
    void finish(Mark mark) override { real_.finish(mark); }
    double moment(Mark mark) override { return real_.moment(mark); }
    void forget(std::span<const Mark> marks) override { real_.forget(marks); }
    ClockReading clocks() override { return real_.clocks(); }

private:
    Device& real_;
    Spoil spoil_;
};

bool passes(const Kernel& kernel, const Spoil& spoil) {
    const auto device = open_device("cpu");
    SpoiledDevice spoiled(*device, spoil);
    return verify(spoiled, kernel, 3).passed();
}

std::size_t last_output(const Kernel& kernel) {
    const auto list = operands(kernel);
    std::size_t last = 0;
    for (std::size_t i = 0; i < list.size(); ++i)
        if (list[i].role != Role::in) last = i;
    return last;
}

TEST(Verify, PassesARightDevice) {
    EXPECT_TRUE(passes(Gemm{Dtype::fp32, 1, 8, 8, 8}, [](const Kernel&, std::span<void* const>) {}));
}

TEST(Verify, SeesOneWrongElementOfEveryMemoryBoundKernel) {
    const Spoil one_element = [](const Kernel& kernel, std::span<void* const> memory) {
        const std::size_t output = last_output(kernel);
        auto* const values = static_cast<float*>(memory[output]);
        values[operands(kernel)[output].elements / 2] += 0.5f;
    };
    for (int kind = 0; kind < pointwise_kinds; ++kind) {
        const Pointwise p{static_cast<PointwiseKind>(kind), Dtype::fp32, 16, 64};
        if (p.kind == PointwiseKind::embedding_backward) continue;  // in place; the next test spoils it
        EXPECT_FALSE(passes(p, one_element)) << to_text(p);
    }
}

TEST(Verify, SeesAnUpdateInPlaceThatIsLeftOut) {
    for (const PointwiseKind kind : {PointwiseKind::embedding_backward, PointwiseKind::adam})
        EXPECT_FALSE(passes(Pointwise{kind, Dtype::fp32, 8, 8}, [](const Kernel&, std::span<void* const> memory) {
            static_cast<float*>(memory[2])[5] += 0.01f;
        })) << name(kind);
}

TEST(Verify, SeesOneUnwrittenElementOfALargeOutput) {
    // 4 million elements are sampled, yet all are looked at for the poison.
    EXPECT_FALSE(passes(Pointwise{PointwiseKind::scale, Dtype::fp32, 2048, 2048},
                        [](const Kernel&, std::span<void* const> memory) {
                            std::memset(static_cast<float*>(memory[1]) + 1234567, 0xff, sizeof(float));
                        }));
}

TEST(Verify, SeesProductsOfTooFewDigits) {
    // As tf32 would give: 10 bits of mantissa.
    EXPECT_FALSE(passes(Gemm{Dtype::fp32, 1, 32, 32, 32}, [](const Kernel& kernel, std::span<void* const> memory) {
        auto* const c = static_cast<float*>(memory[2]);
        for (std::uint64_t i = 0; i < operands(kernel)[2].elements; ++i)
            encode(Format::tf32, static_cast<double>(c[i]), c + i);
    }));
}

TEST(Verify, SeesASampledRegionOfALargeProduct) {
    const Gemm gemm{Dtype::fp32, 1, 1024, 1024, 64};
    EXPECT_FALSE(passes(gemm, [](const Kernel&, std::span<void* const> memory) {
        std::memset(memory[2], 0, 1024 * 64 * sizeof(float));  // a sixteenth of the result
    }));
}

TEST(Verify, ThrowsWhenAnInputIsOverwritten) {
    EXPECT_THROW(passes(Pointwise{PointwiseKind::add, Dtype::fp32, 4, 4},
                        [](const Kernel&, std::span<void* const> memory) { static_cast<float*>(memory[0])[3] = 7; }),
                 DeviceError);
}

TEST(Device, WithStreamsOfItsOwnRunsNoHostWork) {
    const auto device = open_device("cpu");
    SpoiledDevice other(*device, [](const Kernel&, std::span<void* const>) {});
    EXPECT_THROW(other.run([] {}, 0), Error);
    EXPECT_EQ(other.disturbances(), 0u);
}

TEST(Verify, ToleratesRoundingOfTheOutputsFormatAndNoMore) {
    const double single = tolerance(Gemm{Dtype::fp32, 1, 8, 8, 8}, 2);
    EXPECT_LT(single, 0x1p-12);                                      // tf32 and bf16 products are seen
    EXPECT_GT(tolerance(Gemm{Dtype::bf16, 1, 8, 8, 8}, 2), 0x1p-9);  // one rounding to bf16
    EXPECT_LT(tolerance(Gemm{Dtype::bf16, 1, 8, 8, 8}, 2), 0.02);
    EXPECT_EQ(tolerance(Pointwise{PointwiseKind::moe_gate, Dtype::fp32, 8, 8}, 2), 0.0);
}

}  // namespace
}  // namespace orrery::kernels
