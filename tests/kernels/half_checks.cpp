// 16-bit operands under the settings of real training: where sums over micro-batches go, and in which format.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>

#include "kernels/operand_memory.hpp"
#include "kernels/reference/reference.hpp"
#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels::settings_checks {

namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t seed = 91;

/// Operands in device memory, filled with random numbers in the formats that the settings make them.
class Operands {
public:
    Operands(Device& device, const Kernel& kernel, const Settings& settings)
        : device_(device), kernel_(kernel), list_(operands(kernel, settings)) {
        for (std::size_t i = 0; i < list_.size(); ++i) {
            Operand filled = list_[i];
            if (filled.fill == Fill::poison || filled.fill == Fill::forward) filled.fill = Fill::normal;
            if (filled.name == "rstd") filled.fill = Fill::positive;
            before_.push_back(host_values(filled, seed, i));
            pointers_.push_back(device.allocate(before_[i].size()));
            device.copy(CopyKind::host_to_device, pointers_[i], before_[i].data(), before_[i].size(), 0);
        }
        device.synchronize();
    }
    ~Operands() {
        for (void* const memory : pointers_) device_.release(memory);
    }
    Operands(const Operands&) = delete;
    Operands& operator=(const Operands&) = delete;

    [[nodiscard]] const std::vector<Operand>& list() const { return list_; }
    [[nodiscard]] const std::vector<void*>& pointers() const { return pointers_; }
    [[nodiscard]] Bytes back(std::size_t i) const {
        Bytes values(before_[i].size());
        device_.copy(CopyKind::device_to_host, values.data(), pointers_[i], values.size(), 0);
        device_.synchronize();
        return values;
    }
    [[nodiscard]] double before(std::size_t i, std::uint64_t element) const {
        return Values{list_[i].format, before_[i].data()}[element];
    }
    /// What the kernel makes of one element of an output, without what was there.
    [[nodiscard]] double expected(std::size_t i, std::uint64_t element) const {
        std::vector<Values> values;
        for (std::size_t o = 0; o < list_.size(); ++o) values.push_back({list_[o].format, before_[o].data()});
        return reference(kernel_, values, i, element);
    }

private:
    Device& device_;
    Kernel kernel_;
    std::vector<Operand> list_;
    std::vector<Bytes> before_;
    std::vector<void*> pointers_;
};

/// added(element): what else an output gets. Its error, in the norm, is what one rounding to its format explains, and
/// what a few hundred additions in fp32 do; three times both.
template <class Added>
void expect_close(const Operands& memory, std::size_t i, const Added& added) {
    const Operand& output = memory.list()[i];
    SCOPED_TRACE(std::string(output.name));
    const Bytes after = memory.back(i);
    const Values found{output.format, after.data()};
    double squares = 0, differences = 0;
    for (std::uint64_t e = 0; e < output.elements; ++e) {
        const double value = memory.expected(i, e) + added(e), difference = found[e] - value;
        squares += value * value;
        differences += difference * difference;
    }
    const double single = unit_roundoff(Format::fp32);
    EXPECT_GT(squares, 0);
    EXPECT_LT(std::sqrt(differences / squares), 3 * (unit_roundoff(output.format) + 32 * single));
}

void launch(Device& device, const Kernel& kernel, const Operands& memory, const Settings& settings) {
    ASSERT_TRUE(device.supports(kernel));
    device.launch(kernel, memory.pointers(), 0, settings);
    device.synchronize();
}

}  // namespace

void half_products_accumulate_and_add_a_bias(Device& device, Dtype half) {
    const Operand row{"bias", format_of(half), 3 * 56, Role::in};
    const Bytes host = host_values(row, seed, 7);
    void* const bias = device.allocate(host.size());
    device.copy(CopyKind::host_to_device, bias, host.data(), host.size(), 0);
    for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient})
        for (const int mode : {0, 1, 2, 3, 4, 5, 6, 7}) {
            SCOPED_TRACE(mode);
            const Gemm gemm{half, (mode & 4) != 0 ? 3U : 1U, 40, 56, 48, pass};
            Settings settings;
            settings.accumulate = (mode & 1) != 0;
            settings.bias = (mode & 2) != 0 ? bias : nullptr;
            const Operands memory(device, gemm, settings);
            launch(device, gemm, memory, settings);
            expect_close(memory, 2, [&](std::uint64_t e) {
                return (settings.accumulate ? memory.before(2, e) : 0.0) +
                       (settings.bias != nullptr ? Values{format_of(half), host.data()}[e / (40 * 56) * 56 + e % 56]
                                                 : 0.0);
            });
        }
    device.release(bias);
}

void sums_of_half_operands_land_in_either_format(Device& device, Dtype half) {
    using enum PointwiseKind;
    constexpr std::uint64_t rows = 150, cols = 72;
    const auto rowwise = [&](PointwiseKind kind) { return Pointwise{kind, half, rows, cols}; };
    const Kernel kernels[]{Gemm{half, 1, 40, 56, 64, GemmPass::weight_gradient},
                           rowwise(layernorm_backward),
                           rowwise(rmsnorm_backward),
                           rowwise(bias_gradient),
                           rowwise(embedding_backward),
                           rowwise(add)};
    for (const Kernel& kernel : kernels)
        for (const Dtype result : {Dtype::fp32, half})
            for (const bool accumulate : {false, true}) {
                SCOPED_TRACE(to_text(kernel) + " into " + std::string(name(result)));
                Settings settings;
                settings.result = result;
                settings.accumulate = accumulate;
                const Operands memory(device, kernel, settings);
                launch(device, kernel, memory, settings);
                const auto* const pointwise = std::get_if<Pointwise>(&kernel);
                for (std::size_t i = 0; i < memory.list().size(); ++i) {
                    const Operand& output = memory.list()[i];
                    if (output.role == Role::in) continue;
                    EXPECT_EQ(output.format, output.name == "dx" ? format_of(half) : format_of(result));
                    const bool adds = accumulate && output.role == Role::out && output.name != "dx" &&
                                      (pointwise == nullptr || pointwise->kind != add);
                    expect_close(memory, i, [&](std::uint64_t e) { return adds ? memory.before(i, e) : 0.0; });
                }
            }
}

/// Exactly: 16 bits are a part of fp32, and the way back rounds to nearest.
void casts_go_both_ways(Device& device, Dtype half) {
    const Pointwise cast{PointwiseKind::cast, half, 3, 1001};
    for (const bool narrow : {false, true})
        for (const double factor : {1.0, 0.25, 1.0 / 3}) {
            SCOPED_TRACE(narrow ? name(half) : "fp32");
            Settings settings;
            if (narrow) settings.result = half;
            if (factor != 1) settings.scale_factor = factor;
            const Operands memory(device, cast, settings);
            EXPECT_EQ(memory.list()[0].format, narrow ? Format::fp32 : format_of(half));
            launch(device, cast, memory, settings);
            const Operand& output = memory.list()[1];
            const Bytes after = memory.back(1);
            for (std::uint64_t e = 0; e < output.elements; ++e) {
                const float product = static_cast<float>(memory.before(0, e)) * static_cast<float>(factor);
                std::array<std::byte, 4> expected{};
                encode(output.format, static_cast<double>(product), expected.data());
                ASSERT_EQ((Values{output.format, after.data()}[e]), decode(output.format, expected.data())) << e;
            }
        }
}

namespace {

/// Copies columns of tokens between q, k, v and rows that hold all three; packs when `into` is true.
void move_columns(std::vector<Bytes>& parts, Bytes& rows, std::uint64_t tokens, bool into) {
    const std::uint64_t row = rows.size() / tokens;
    for (std::uint64_t t = 0; t < tokens; ++t) {
        std::uint64_t at = t * row;
        for (Bytes& part : parts) {
            const std::uint64_t width = part.size() / tokens;
            for (std::uint64_t b = 0; b < width; ++b, ++at)
                (into ? rows[at] : part[t * width + b]) = into ? part[t * width + b] : rows[at];
        }
    }
}

/// The same bytes come out, whether heads lie in packed rows or in tensors of their own.
void check_packed(Device& device, Attention shape) {
    SCOPED_TRACE(to_text(Kernel(shape)));
    shape.backward = true;
    const Operands plain(device, shape, {});
    std::vector<Bytes> parts{plain.back(0), plain.back(1), plain.back(2)};
    Bytes rows(parts[0].size() + parts[1].size() + parts[2].size());
    const std::uint64_t tokens = std::uint64_t{shape.batch} * shape.seq, row = rows.size() / tokens;
    move_columns(parts, rows, tokens, true);
    auto* const qkv = static_cast<std::byte*>(device.allocate(rows.size()));
    auto* const gradients = static_cast<std::byte*>(device.allocate(rows.size()));
    void* const o = device.allocate(plain.back(3).size());
    void* const lse = device.allocate(plain.back(4).size());
    device.copy(CopyKind::host_to_device, qkv, rows.data(), rows.size(), 0);
    device.copy(CopyKind::host_to_device, gradients, rows.data(), rows.size(), 0);
    const std::uint64_t k = parts[0].size() / tokens, v = k + parts[1].size() / tokens;
    Settings settings;
    settings.row_stride = row / size_of(shape.dtype);

    Attention forward = shape;
    forward.backward = false;
    const std::vector<void*>& own = plain.pointers();
    device.launch(forward, std::vector<void*>{own[0], own[1], own[2], own[3], own[4]}, 0);
    device.launch(forward, std::vector<void*>{qkv, qkv + k, qkv + v, o, lse}, 0, settings);
    device.launch(shape, own, 0);
    device.launch(shape,
                  std::vector<void*>{qkv, qkv + k, qkv + v, o, lse, own[5], gradients, gradients + k, gradients + v}, 0,
                  settings);
    Bytes out(plain.back(3).size()), sums(plain.back(4).size());
    device.copy(CopyKind::device_to_host, out.data(), o, out.size(), 0);
    device.copy(CopyKind::device_to_host, sums.data(), lse, sums.size(), 0);
    device.copy(CopyKind::device_to_host, rows.data(), gradients, rows.size(), 0);
    device.synchronize();
    move_columns(parts, rows, tokens, false);
    EXPECT_EQ(out, plain.back(3)) << "o";
    EXPECT_EQ(sums, plain.back(4)) << "lse";
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(parts[i], plain.back(6 + i)) << "gradient " << i;
    for (void* const memory : {static_cast<void*>(qkv), static_cast<void*>(gradients), o, lse}) device.release(memory);
}

}  // namespace

void packed_rows_change_no_bit_of_attention(Device& device, Dtype dtype) {
    for (const bool causal : {true, false}) {
        check_packed(device, {dtype, false, causal, 2, 40, 4, 2, 64});
        check_packed(device, {dtype, false, causal, 1, 150, 2, 2, 80});
        check_packed(device, {dtype, false, causal, 1, 129, 3, 1, 128});
    }
}

}  // namespace orrery::kernels::settings_checks
