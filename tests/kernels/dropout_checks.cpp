// Launches of dropouts: which numbers they draw, and attention whose probabilities are dropped.
#include <fmt/format.h>

#include <cmath>

#include "kernels/number_format.hpp"
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels::settings_checks {

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Runs that begin and end inside the four elements of a counter.
constexpr DropoutMask odd{.probability = 0.3,
                          .seed = 0x123456789abcdefULL,
                          .step = 12,
                          .site = 515,
                          .first = 1001,
                          .run = 111,
                          .stride = 517};

double factor(const MaskNumbers& numbers, std::uint64_t element) {
    return numbers.keeps(numbers.place(element)) ? 1 / 0.7 : 0;
}

/// In a format, as it lies in memory.
class Rounded {
public:
    Rounded(Dtype dtype, const Floats& values) : format_(format_of(dtype)), bytes_(values.size() * size_of(format_)) {
        for (std::size_t i = 0; i < values.size(); ++i)
            encode(format_, static_cast<double>(values[i]), bytes_.data() + i * size_of(format_));
    }
    [[nodiscard]] const Bytes& bytes() const { return bytes_; }
    [[nodiscard]] double operator[](std::size_t i) const {
        return decode(format_, bytes_.data() + i * size_of(format_));
    }

private:
    Format format_;
    Bytes bytes_;
};

/// error: of a value, relative to the largest.
void expect_near(Dtype dtype, const Bytes& found, const Doubles& expected) {
    const Format format = format_of(dtype);
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    const double error = 4 * std::max(unit_roundoff(format), unit_roundoff(Format::fp32)) * largest;
    ASSERT_EQ(found.size(), expected.size() * size_of(format));
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(decode(format, found.data() + i * size_of(format)), expected[i], error) << "element " << i;
}

}  // namespace

void dropouts_draw_the_mask_they_are_given(Device& device, Dtype dtype) {
    for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{23, 37}, {40, 64}}) {
        const std::size_t n = rows * cols;
        SCOPED_TRACE(n);
        const Rounded x(dtype, normal(n, seed)), residual(dtype, normal(n, seed + 1)), bias(dtype, normal(cols, seed));
        const OnDevice<std::uint8_t> in(device, x.bytes()), stream(device, residual.bytes()), row(device, bias.bytes());
        const OnDevice<std::uint8_t> mask(device, Bytes(n, 7)), out(device, Bytes(x.bytes().size(), 255));
        const MaskNumbers numbers(odd);
        Settings settings;
        settings.dropout = odd;
        Doubles dropped, summed;
        Bytes kept;
        for (std::size_t i = 0; i < n; ++i) {
            kept.push_back(numbers.keeps(numbers.place(i)) ? 1 : 0);
            dropped.push_back(factor(numbers, i) * x[i]);
            summed.push_back(residual[i] + factor(numbers, i) * (x[i] + bias[i % cols]));
        }
        const auto kernel = [&](PointwiseKind kind) { return Pointwise{kind, dtype, rows, cols}; };
        launch(device, kernel(PointwiseKind::dropout), {in.at(), mask.at(), out.at()}, settings);
        EXPECT_EQ(mask.back(), kept);
        expect_near(dtype, out.back(), dropped);
        const OnDevice<std::uint8_t> again(device, Bytes(n, 7)), gradient(device, Bytes(x.bytes().size(), 255));
        launch(device, kernel(PointwiseKind::bias_dropout_add), {in.at(), row.at(), stream.at(), again.at(), out.at()},
               settings);
        EXPECT_EQ(again.back(), kept);
        expect_near(dtype, out.back(), summed);
        for (const PointwiseKind kind : {PointwiseKind::dropout_backward, PointwiseKind::bias_dropout_add_backward}) {
            launch(device, kernel(kind), {in.at(), again.at(), gradient.at()}, settings);
            expect_near(dtype, gradient.back(), dropped);
        }
    }
}

namespace {

/// Attention over contiguous rows, element by element.
struct Plain {
    Attention a;
    const Rounded &q, &k, &v;
    MaskNumbers numbers;

    [[nodiscard]] std::size_t query(std::size_t b, std::size_t i, std::size_t h) const {
        return ((b * a.seq + i) * a.heads + h) * a.head_dim;
    }
    [[nodiscard]] std::size_t key(std::size_t b, std::size_t j, std::size_t h) const {
        return ((b * a.seq + j) * a.kv_heads + h / (a.heads / a.kv_heads)) * a.head_dim;
    }
    [[nodiscard]] double by(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
        return factor(numbers, ((b * a.heads + h) * a.seq + i) * a.seq + j);
    }
    [[nodiscard]] std::size_t end(std::size_t i) const { return a.causal ? i + 1 : a.seq; }
    [[nodiscard]] double scale() const { return 1 / std::sqrt(static_cast<double>(a.head_dim)); }
    [[nodiscard]] Doubles probabilities(std::size_t b, std::size_t h, std::size_t i) const {
        Doubles p;
        double total = 0;
        for (std::size_t j = 0; j < end(i); ++j) {
            double dot = 0;
            for (std::size_t d = 0; d < a.head_dim; ++d) dot += q[query(b, i, h) + d] * k[key(b, j, h) + d];
            total += p.emplace_back(std::exp(scale() * dot));
        }
        for (double& one : p) one /= total;
        return p;
    }
    template <class Each>
    void each_row(const Each& each) const {
        for (std::size_t b = 0; b < a.batch; ++b)
            for (std::size_t h = 0; h < a.heads; ++h)
                for (std::size_t i = 0; i < a.seq; ++i) each(b, h, i, probabilities(b, h, i));
    }
    [[nodiscard]] Doubles forward(std::size_t elements) const {
        Doubles o(elements);
        each_row([&](std::size_t b, std::size_t h, std::size_t i, const Doubles& p) {
            for (std::size_t j = 0; j < p.size(); ++j)
                for (std::size_t d = 0; d < a.head_dim; ++d)
                    o[query(b, i, h) + d] += p[j] * by(b, h, i, j) * v[key(b, j, h) + d];
        });
        return o;
    }
    /// dq, dk, dv.
    [[nodiscard]] std::array<Doubles, 3> backward(const Rounded& d_o, std::size_t wide, std::size_t narrow) const {
        std::array<Doubles, 3> gradients{Doubles(wide), Doubles(narrow), Doubles(narrow)};
        each_row([&](std::size_t b, std::size_t h, std::size_t i, const Doubles& p) {
            const std::size_t at = query(b, i, h);
            Doubles dp(p.size());
            double mean = 0;
            for (std::size_t j = 0; j < p.size(); ++j) {
                for (std::size_t d = 0; d < a.head_dim; ++d) {
                    dp[j] += by(b, h, i, j) * d_o[at + d] * v[key(b, j, h) + d];
                    gradients[2][key(b, j, h) + d] += by(b, h, i, j) * p[j] * d_o[at + d];
                }
                mean += p[j] * dp[j];
            }
            for (std::size_t j = 0; j < p.size(); ++j)
                for (std::size_t d = 0; d < a.head_dim; ++d) {
                    gradients[0][at + d] += scale() * p[j] * (dp[j] - mean) * k[key(b, j, h) + d];
                    gradients[1][key(b, j, h) + d] += scale() * p[j] * (dp[j] - mean) * q[at + d];
                }
        });
        return gradients;
    }
};

/// In the norm: what rounding to the format explains, of probabilities and of the result, three times.
void expect_close(Dtype dtype, const Bytes& found, const Doubles& expected) {
    const Format format = format_of(dtype);
    double squares = 0, differences = 0;
    ASSERT_EQ(found.size(), expected.size() * size_of(format));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double apart = decode(format, found.data() + i * size_of(format)) - expected[i];
        ASSERT_TRUE(std::isfinite(apart)) << i;
        squares += expected[i] * expected[i];
        differences += apart * apart;
    }
    EXPECT_LT(std::sqrt(differences / squares), dtype == Dtype::fp32 ? 1e-5 : 9 * unit_roundoff(format));
}

}  // namespace

namespace {

void check_dropped_attention(Device& device, Attention a, const DropoutMask& mask) {
    SCOPED_TRACE(fmt::format("{}, mask from {}", to_text(Kernel(a)), mask.first));
    const std::size_t tokens = std::size_t{a.batch} * a.seq, wide = tokens * a.heads * a.head_dim,
                      narrow = tokens * a.kv_heads * a.head_dim, element = size_of(a.dtype);
    const Rounded q(a.dtype, normal(wide, seed)), k(a.dtype, normal(narrow, seed + 1)),
        v(a.dtype, normal(narrow, seed + 2)), d_o(a.dtype, normal(wide, seed + 3));
    Settings settings;
    settings.dropout = mask;
    const Plain plain{a, q, k, v, MaskNumbers(*settings.dropout)};
    const OnDevice<std::uint8_t> dq(device, q.bytes()), dk(device, k.bytes()), dv(device, v.bytes());
    const OnDevice<std::uint8_t> gradient(device, d_o.bytes()), o(device, Bytes(wide * element, 255));
    const OnDevice<float> lse(device, Floats(tokens * a.heads));
    launch(device, a, {dq.at(), dk.at(), dv.at(), o.at(), lse.at()}, settings);
    expect_close(a.dtype, o.back(), plain.forward(wide));
    a.backward = true;
    const OnDevice<std::uint8_t> to_q(device, Bytes(wide * element, 255)), to_k(device, Bytes(narrow * element, 255)),
        to_v(device, Bytes(narrow * element, 255));
    launch(device, a, {dq.at(), dk.at(), dv.at(), o.at(), lse.at(), gradient.at(), to_q.at(), to_k.at(), to_v.at()},
           settings);
    const auto gradients = plain.backward(d_o, wide, narrow);
    expect_close(a.dtype, to_q.back(), gradients[0]);
    expect_close(a.dtype, to_k.back(), gradients[1]);
    expect_close(a.dtype, to_v.back(), gradients[2]);
}

}  // namespace

/// Heads that begin anywhere in the mask, and where its counters do.
void attention_drops_probabilities(Device& device, Attention a) {
    DropoutMask mask = odd;
    mask.run = std::uint64_t{a.heads} * a.seq * a.seq;
    mask.stride = 3 * mask.run + 1;
    check_dropped_attention(device, a, mask);
    mask.first -= mask.first % 4;
    mask.stride = 3 * mask.run + 4;
    check_dropped_attention(device, a, mask);
}

void attention_drops_probabilities(Device& device) {
    for (const bool causal : {true, false}) {
        attention_drops_probabilities(device, {Dtype::fp32, false, causal, 2, 9, 4, 2, 4});
        attention_drops_probabilities(device, {Dtype::fp32, false, causal, 1, 70, 2, 1, 40});
        attention_drops_probabilities(device, {Dtype::fp32, false, causal, 2, 35, 1, 1, 80});
        for (const Dtype half : {Dtype::bf16, Dtype::fp16}) {
            attention_drops_probabilities(device, {half, false, causal, 2, 70, 4, 2, 64});
            attention_drops_probabilities(device, {half, false, causal, 1, 131, 1, 1, 96});
            attention_drops_probabilities(device, {half, false, causal, 2, 72, 2, 1, 64});
        }
    }
}

}  // namespace orrery::kernels::settings_checks
