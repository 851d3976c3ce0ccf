// verify() sees what a wrong device does: a device that passes everything on and spoils one thing.
#include "kernels/verify.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "kernels/operands.hpp"
#include "kernels/reference/reference.hpp"

namespace orrery::kernels {
namespace {

using Spoil = std::function<void(const Kernel&, std::span<void* const>)>;

/// Launches on the real device, where that can, then spoils what it wrote.
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
        if (real_.supports(kernel)) real_.launch(kernel, operands, stream, settings);
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

bool passes(const Kernel& kernel, const Spoil& spoil, std::uint64_t seed = 3) {
    const auto device = open_device("cpu");
    SpoiledDevice spoiled(*device, spoil);
    return verify(spoiled, kernel, seed).passed();
}

/// Writes what the reference says times a factor, rounded to the outputs' formats: a device without any error within.
Spoil exactly(double factor) {
    return [factor](const Kernel& kernel, std::span<void* const> memory) {
        const auto list = operands(kernel);
        std::vector<Values> before;
        for (std::size_t i = 0; i < list.size(); ++i)
            before.push_back({list[i].format, static_cast<const std::byte*>(memory[i])});
        for (std::size_t i = 0; i < list.size(); ++i)
            for (std::uint64_t e = 0; list[i].role == Role::out && e < list[i].elements; ++e)
                encode(list[i].format, factor * reference(kernel, before, i, e),
                       static_cast<std::byte*>(memory[i]) + e * size_of(list[i].format));
    };
}

/// One element of a gradient; the forward kernel, whose results the backward reads, is left alone.
Spoil in_gradient(const Kernel& backward, std::size_t operand) {
    return [backward, operand](const Kernel& kernel, std::span<void* const> memory) {
        if (kernel == backward) static_cast<float*>(memory[operand])[1] += 1e-3f;
    };
}

const Spoil nothing = [](const Kernel&, std::span<void* const>) {};

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

/// Probabilities over many rows and classes lie below fp16's normal numbers.
TEST(Verify, ToleratesRoundingToSubnormalsAndNoMore) {
    const Pointwise tiny{PointwiseKind::cross_entropy_backward, Dtype::fp16, 20000, 64};
    EXPECT_TRUE(passes(tiny, exactly(1)));
    EXPECT_FALSE(passes(tiny, exactly(1.1)));
}

/// A query that sees one key has no gradient, nor has a norm over two columns: all that is left is rounding.
TEST(Verify, MeasuresWhatCancelsByItsTerms) {
    const Attention one_token{Dtype::fp32, true, true, 2, 1, 4, 2, 64};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_TRUE(passes(one_token, nothing, seed)) << "seed " << seed;
        for (const PointwiseKind kind : {PointwiseKind::layernorm_backward, PointwiseKind::rmsnorm_backward})
            EXPECT_TRUE(passes(Pointwise{kind, Dtype::fp32, 2, 2}, nothing, seed)) << "seed " << seed;
    }
    for (const std::size_t gradient : {6, 7}) EXPECT_FALSE(passes(one_token, in_gradient(one_token, gradient)));
    const Pointwise norm{PointwiseKind::layernorm_backward, Dtype::fp32, 2, 2};
    EXPECT_FALSE(passes(norm, in_gradient(norm, 5)));
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
    // Tensor cores cut off: 2.5e-5 of sums of 4,096 terms. Roundings to nearest do not.
    EXPECT_GT(tolerance(Gemm{Dtype::tf32, 1, 8, 8, 4096}, 2), 2.5e-5);
    EXPECT_LT(tolerance(Gemm{Dtype::tf32, 1, 8, 8, 4096}, 2), 1e-4);
    EXPECT_LT(tolerance(Gemm{Dtype::fp32, 1, 8, 8, 4096}, 2), 2e-5);
    EXPECT_EQ(tolerance(Pointwise{PointwiseKind::moe_gate, Dtype::fp32, 8, 8}, 2), 0.0);
}

}  // namespace
}  // namespace orrery::kernels
