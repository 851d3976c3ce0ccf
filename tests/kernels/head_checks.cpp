// Launches of attention by products of its heads: heads inside rows of tokens, softmax of what queries see, and copies
// in which heads and tokens change places.
#include <cmath>

#include "kernels/number_format.hpp"
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels::settings_checks {

namespace {

using Encoded = std::vector<std::uint8_t>;

/// Random numbers in a format, as they lie in memory.
struct Numbers {
    Format format;
    Encoded bytes;

    Numbers(Dtype dtype, std::size_t count, std::uint64_t with) : format(format_of(dtype)) {
        bytes.resize(count * size_of(format));
        const Floats values = normal(count, with);
        for (std::size_t i = 0; i < count; ++i)
            encode(format, static_cast<double>(values[i]), bytes.data() + i * size_of(format));
    }
    [[nodiscard]] double operator[](std::size_t i) const { return decode(format, bytes.data() + i * size_of(format)); }
};

/// One rounding to the format, and a few hundred additions in fp32.
void expect_rounded(Dtype dtype, const Encoded& found, const Doubles& expected) {
    const Format format = format_of(dtype);
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    ASSERT_EQ(found.size(), expected.size() * size_of(format));
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(decode(format, found.data() + i * size_of(format)), expected[i],
                    (unit_roundoff(format) + 1e-5) * largest)
            << "element " << i;
}

constexpr std::size_t sequences = 2, tokens = 16, heads = 4, columns = 8;

/// a, or b, inside rows of `stride` from element `first` on, or as matrices one behind the other.
struct Side {
    std::size_t stride, first, shared, rows, cols;
    [[nodiscard]] std::size_t at(std::size_t product, std::size_t row, std::size_t col) const {
        if (stride == 0) return (product * rows + row) * cols + col;
        const std::size_t sequence = product / heads, head = product % heads / shared;
        return first + (sequence * rows + row) * stride + head * cols + col;
    }
    [[nodiscard]] std::size_t elements() const {
        return stride == 0 ? sequences * heads * rows * cols : sequences * rows * stride;
    }
};

void check_products(Device& device, const Gemm& g, std::size_t a_stride, std::size_t b_stride, std::uint32_t shared) {
    SCOPED_TRACE(testing::Message() << to_text(Kernel(g)) << ' ' << a_stride << ' ' << b_stride << ' ' << shared);
    const bool a_turned = g.pass == GemmPass::weight_gradient, b_turned = g.pass == GemmPass::forward;
    const Side a{a_stride, a_stride == 0 ? 0 : columns, 1, a_turned ? g.k : g.m, a_turned ? g.m : g.k};
    const Side b{b_stride, b_stride == 0 ? 0 : columns, shared, b_turned ? g.n : g.k, b_turned ? g.k : g.n};
    const Numbers left(g.dtype, a.elements(), seed), right(g.dtype, b.elements(), seed + 1);
    const std::size_t size = size_of(left.format), count = std::size_t{g.batch} * g.m * g.n;
    Doubles expected(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t product = i / (g.m * g.n), row = i / g.n % g.m, col = i % g.n;
        for (std::size_t k = 0; k < g.k; ++k)
            expected[i] += left[a_turned ? a.at(product, k, row) : a.at(product, row, k)] *
                           right[b_turned ? b.at(product, col, k) : b.at(product, k, col)];
    }
    const OnDevice<std::uint8_t> x(device, left.bytes), y(device, right.bytes), c(device, Encoded(count * size, 255));
    Settings settings;
    settings.heads = {.count = heads, .a_stride = a_stride, .b_stride = b_stride, .shared = shared};
    launch(device, g, {x.at(a.first * size), y.at(b.first * size), c.at()}, settings);
    expect_rounded(g.dtype, c.back(), expected);
}

}  // namespace

void products_take_heads_inside_rows(Device& device, Dtype dtype) {
    const std::size_t packed = (heads + 5) * columns;
    for (const std::uint32_t shared : {1U, 2U, 4U}) {
        const auto gemm = [&](std::uint32_t m, std::uint32_t n, std::uint32_t k, GemmPass pass) {
            return Gemm{dtype, sequences * heads, m, n, k, pass};
        };
        check_products(device, gemm(tokens, tokens, columns, GemmPass::forward), packed, packed, shared);
        check_products(device, gemm(tokens, tokens, columns, GemmPass::forward), 0, packed, shared);
        check_products(device, gemm(tokens, columns, tokens, GemmPass::data_gradient), 0, packed, shared);
    }
    check_products(device, {dtype, sequences * heads, tokens, columns, tokens, GemmPass::weight_gradient}, 0, packed,
                   1);
    check_products(device, {dtype, sequences * heads, tokens, columns, tokens, GemmPass::weight_gradient}, 0, 0, 1);
}

void softmax_leaves_out_what_queries_do_not_see(Device& device, Dtype dtype) {
    for (const auto& [causal, window] : {std::pair{true, 0U}, {false, 0U}, {true, 5U}, {false, 3U}}) {
        SCOPED_TRACE(testing::Message() << causal << ' ' << window);
        const Attention scores{dtype, false, causal, 1, tokens, 1, 1, columns, tokens, window};
        const std::size_t rows = 3 * tokens, n = rows * tokens;
        const Numbers x(dtype, n, seed), dy(dtype, n, seed + 1);
        const OnDevice<std::uint8_t> in(device, x.bytes), y(device, Encoded(x.bytes.size(), 255)),
            gradient(device, dy.bytes), dx(device, Encoded(x.bytes.size(), 255));
        Settings settings;
        settings.scale_factor = 0.35;
        settings.scores = scores;
        Doubles expected(n), backward(n);
        for (std::size_t r = 0; r < rows; ++r) {
            const std::size_t first = scores.first_key(r % tokens), last = scores.end_key(r % tokens);
            double total = 0;
            for (std::size_t c = first; c < last; ++c)
                total += expected[r * tokens + c] = std::exp(0.35 * x[r * tokens + c]);
            for (std::size_t c = first; c < last; ++c) expected[r * tokens + c] /= total;
        }
        const Pointwise forward{PointwiseKind::softmax, dtype, rows, tokens};
        launch(device, forward, {in.at(), y.at()}, settings);
        const Encoded found = y.back();
        expect_rounded(dtype, found, expected);
        const auto p = [&](std::size_t i) {
            return decode(format_of(dtype), found.data() + i * size_of(format_of(dtype)));
        };
        for (std::size_t r = 0; r < rows; ++r) {
            double mean = 0;
            for (std::size_t c = 0; c < tokens; ++c) mean += p(r * tokens + c) * dy[r * tokens + c];
            for (std::size_t c = 0; c < tokens; ++c)
                backward[r * tokens + c] = 0.35 * p(r * tokens + c) * (dy[r * tokens + c] - mean);
        }
        launch(device, {Pointwise{PointwiseKind::softmax_backward, dtype, rows, tokens}},
               {y.at(), gradient.at(), dx.at()}, settings);
        expect_rounded(dtype, dx.back(), backward);
    }
}

void heads_and_tokens_change_places(Device& device, Dtype dtype) {
    const std::size_t size = size_of(format_of(dtype)), rows = sequences * tokens, all = heads * columns;
    const Pointwise kernel{PointwiseKind::transpose, dtype, rows, all};
    const auto matrix = [](std::size_t row, std::size_t head, std::size_t of, std::size_t c) {
        return ((row / tokens * of + head) * tokens + row % tokens) * columns + c;
    };
    for (const std::size_t shared : {1U, 3U}) {
        const std::size_t stride = all + 2 * columns;
        const Numbers x(dtype, rows * all * shared, seed);
        const OnDevice<std::uint8_t> in(device, x.bytes), out(device, Encoded(rows * stride * size, 0));
        Settings settings;
        settings.heads = {
            .shared = static_cast<std::uint32_t>(shared), .columns = columns, .tokens = tokens, .joined = true};
        settings.row_stride = stride;
        Doubles expected(rows * stride);
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t head = 0; head < heads * shared; ++head)
                for (std::size_t c = 0; c < columns; ++c)
                    expected[row * stride + columns + head / shared * columns + c] +=
                        x[matrix(row, head, heads * shared, c)];
        launch(device, kernel, {in.at(), out.at(columns * size)}, settings);
        expect_rounded(dtype, out.back(), expected);
    }
    const Numbers x(dtype, rows * all, seed + 1);
    const OnDevice<std::uint8_t> in(device, x.bytes), out(device, Encoded(x.bytes.size(), 255));
    Settings settings;
    settings.heads = {.columns = columns, .tokens = tokens};
    Doubles expected(rows * all);
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t i = 0; i < all; ++i) expected[matrix(row, i / columns, heads, i % columns)] = x[row * all + i];
    launch(device, kernel, {in.at(), out.at()}, settings);
    expect_rounded(dtype, out.back(), expected);
}

}  // namespace orrery::kernels::settings_checks
