// Operands of fp8: the largest element, the cast in both orders, and products of what it made.
#include <string>

#include "kernels/number_format.hpp"
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels::settings_checks {

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes encoded(Dtype dtype, const Floats& values) {
    const std::size_t size = size_of(format_of(dtype));
    Bytes bytes(values.size() * size);
    for (std::size_t i = 0; i < values.size(); ++i)
        encode(format_of(dtype), static_cast<double>(values[i]), bytes.data() + i * size);
    return bytes;
}

Floats decoded(Format format, const Bytes& bytes) {
    Floats values(bytes.size() / size_of(format));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(decode(format, bytes.data() + i * size_of(format)));
    return values;
}

/// A tensor on the device in 16 or 32 bits, and its cast.
struct Cast {
    std::size_t rows, cols;
    Format format;
    Floats values;  ///< as they are before
    OnDevice<float> largest, scale;
    OnDevice<std::uint8_t> y, t;

    Cast(Device& device, Dtype dtype, Floats numbers, std::size_t tall, std::size_t wide, bool gradient)
        : rows(tall),
          cols(wide),
          format(gradient ? Format::fp8_e5m2 : Format::fp8),
          values(decoded(format_of(dtype), encoded(dtype, numbers))),
          largest(device, Floats(4)),
          scale(device, Floats(4)),
          y(device, Bytes(rows * cols, 0x55)),
          t(device, Bytes(rows * cols, 0x55)) {
        const OnDevice<std::uint8_t> x(device, encoded(dtype, numbers));
        Settings settings;
        settings.narrow.largest = true;
        const std::vector<void*> found{x.at(), largest.at()};
        device.launch(Pointwise{PointwiseKind::sum_of_squares, dtype, rows, cols}, found, 0, settings);
        settings.narrow = {.gradient = gradient, .cast = true};
        const std::vector<void*> made{x.at(), largest.at(), y.at(), t.at(), scale.at()};
        device.launch(Pointwise{PointwiseKind::transpose, dtype, rows, cols}, made, 0, settings);
        device.synchronize();
    }

    /// What the elements stand for, of y or of t.
    [[nodiscard]] Doubles stands_for(const OnDevice<std::uint8_t>& narrow) const {
        const auto by = static_cast<double>(scale.back()[0]);
        Doubles all;
        for (const float value : decoded(format, narrow.back())) all.push_back(by * static_cast<double>(value));
        return all;
    }
};

/// Bit for bit, by the same arithmetic in fp32.
void expect_cast(const Cast& cast) {
    float most = 0;
    for (const float value : cast.values) most = std::max(most, std::abs(value));
    EXPECT_EQ(cast.largest.back()[0], most);
    const float scale = most > 0 ? (cast.format == Format::fp8 ? 448.0f : 57344.0f) / most : 1.0f;
    EXPECT_EQ(cast.scale.back()[0], 1 / scale);
    const Bytes y = cast.y.back(), t = cast.t.back();
    for (std::size_t r = 0; r < cast.rows; ++r)
        for (std::size_t c = 0; c < cast.cols; ++c) {
            std::uint8_t expected = 0;
            encode(cast.format, static_cast<double>(cast.values[r * cast.cols + c] * scale), &expected);
            ASSERT_EQ(y[r * cast.cols + c], expected) << r << ", " << c;
            ASSERT_EQ(t[c * cast.rows + r], expected) << r << ", " << c;
        }
}

/// a [m, k] b [n, k] -> [m, n].
Doubles product(const Doubles& a, const Doubles& b, std::size_t m, std::size_t n, std::size_t k) {
    Doubles c(m * n);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j)
            for (std::size_t l = 0; l < k; ++l) c[i * n + j] += a[i * k + l] * b[j * k + l];
    return c;
}

/// Tensor cores sum products of fp8 in some 14 bits, a few dozen terms at a time.
void expect_near(const Floats& found, const Doubles& expected, double relative) {
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(static_cast<double>(found[i]), expected[i], relative * largest) << "element " << i;
}

Gemm over(std::size_t m, std::size_t n, std::size_t k) {
    return {Dtype::fp8,
            1,
            static_cast<std::uint32_t>(m),
            static_cast<std::uint32_t>(n),
            static_cast<std::uint32_t>(k),
            GemmPass::forward};
}

}  // namespace

void casts_to_fp8_go_both_ways(Device& device) {
    for (const Dtype dtype : {Dtype::bf16, Dtype::fp16, Dtype::fp32})
        for (const bool gradient : {false, true}) {
            SCOPED_TRACE(std::string(name(dtype)) + (gradient ? " gradient" : ""));
            expect_cast({device, dtype, normal(72 * 136, seed), 72, 136, gradient});
            expect_cast({device, dtype, normal(7 * 65, seed + 1), 7, 65, gradient});
        }
    expect_cast({device, Dtype::bf16, Floats(16 * 16), 16, 16, false});  // nothing but zeros
    Floats wide = normal(32 * 32, seed + 2);
    for (std::size_t i = 0; i < wide.size(); i += 3) wide[i] *= 1e-6f;  // below the format's smallest numbers
    expect_cast({device, Dtype::fp32, wide, 32, 32, true});
}

/// The three products of a linear layer: forward with a bias, the gradient of its input, and that of its weight, which
/// is added in fp32 to what there is.
void products_in_fp8_take_their_scales(Device& device) {
    constexpr std::size_t tokens = 48, in = 64, out = 32;
    constexpr double bf16_rounding = 0x1p-8, sums = 1e-3;
    Floats small = normal(tokens * out, seed + 5);
    for (float& value : small) value *= 1e-4f;
    const Cast x(device, Dtype::bf16, normal(tokens * in, seed + 3), tokens, in, false),
        w(device, Dtype::bf16, normal(out * in, seed + 4), out, in, false),
        dy(device, Dtype::bf16, small, tokens, out, true);

    const Floats bias = decoded(Format::bf16, encoded(Dtype::bf16, normal(out, seed + 6)));
    const OnDevice<std::uint8_t> bias_there(device, encoded(Dtype::bf16, bias)), y(device, Bytes(2 * tokens * out)),
        dx(device, Bytes(2 * tokens * in));
    Settings settings;
    settings.bias = bias_there.at();
    settings.narrow = {.scaled = true};
    device.launch(over(tokens, out, in), std::vector<void*>{x.y.at(), w.y.at(), y.at(), x.scale.at(), w.scale.at()}, 0,
                  settings);
    Doubles expected = product(x.stands_for(x.y), w.stands_for(w.y), tokens, out, in);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(bias[i % out]);
    expect_near(decoded(Format::bf16, y.back()), expected, sums + bf16_rounding);

    settings = {};
    settings.narrow = {.gradient = true, .scaled = true};
    device.launch(over(tokens, in, out), std::vector<void*>{dy.y.at(), w.t.at(), dx.at(), dy.scale.at(), w.scale.at()},
                  0, settings);
    expect_near(decoded(Format::bf16, dx.back()), product(dy.stands_for(dy.y), w.stands_for(w.t), tokens, in, out),
                sums + bf16_rounding);

    Floats before = normal(out * in, seed + 7);
    for (float& value : before) value *= 1e-3f;
    const OnDevice<float> dw(device, before);
    settings.accumulate = true;
    settings.result = Dtype::fp32;
    device.launch(over(out, in, tokens), std::vector<void*>{dy.t.at(), x.t.at(), dw.at(), dy.scale.at(), x.scale.at()},
                  0, settings);
    expected = product(dy.stands_for(dy.t), x.stands_for(x.t), out, in, tokens);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(before[i]);
    expect_near(dw.back(), expected, sums);
}

}  // namespace orrery::kernels::settings_checks
