// Attention with biases of pairs of positions against plain loops in double precision.
#include "kernels/number_format.hpp"
#include "tests/kernels/on_device.hpp"

namespace orrery::kernels::settings_checks {
namespace {

constexpr std::size_t dim = 8;

/// Every head's keys are its own; values of all sequences, each sequence's behind the other.
struct Plain {
    std::size_t batch, seq, keys, heads;
    bool causal;

    [[nodiscard]] std::size_t row(std::size_t b, std::size_t i, std::size_t h, std::size_t rows) const {
        return ((b * rows + i) * heads + h) * dim;
    }
    [[nodiscard]] std::size_t pair(std::size_t i, std::size_t j, std::size_t h) const {
        return (i * keys + j) * heads + h;
    }
    [[nodiscard]] Attention kernel(Dtype dtype, bool backward) const {
        const auto narrow = [](std::size_t n) { return static_cast<std::uint32_t>(n); };
        Attention a{dtype, backward, causal, narrow(batch), narrow(seq), narrow(heads), narrow(heads), narrow(dim)};
        a.key_seq = keys == seq ? 0 : narrow(keys);
        return a;
    }
};

double dot(const Floats& a, std::size_t at, const Floats& b, std::size_t with) {
    double sum = 0;
    for (std::size_t d = 0; d < dim; ++d) sum += static_cast<double>(a[at + d]) * static_cast<double>(b[with + d]);
    return sum;
}

struct Operands {
    Floats q, k, v, bias, gradient;  ///< gradient: of the results
};

struct Results {
    Doubles o, lse, dq, dk, dv, dbias;
};

/// One query of one head: its probabilities, results and what it adds to all gradients.
void attend(const Plain& s, const Operands& x, std::size_t b, std::size_t i, std::size_t h, Results& to) {
    const std::size_t seen = s.causal ? i + 1 : s.keys, at = s.row(b, i, h, s.seq);
    const double scale = 1 / std::sqrt(static_cast<double>(dim));
    Doubles p(seen);
    double total = 0;
    for (std::size_t j = 0; j < seen; ++j)
        total += p[j] =
            std::exp(scale * dot(x.q, at, x.k, s.row(b, j, h, s.keys)) + static_cast<double>(x.bias[s.pair(i, j, h)]));
    to.lse[(b * s.heads + h) * s.seq + i] = std::log(total);
    double mean = 0;
    for (std::size_t j = 0; j < seen; ++j) {
        p[j] /= total;
        const std::size_t key = s.row(b, j, h, s.keys);
        for (std::size_t d = 0; d < dim; ++d) {
            to.o[at + d] += p[j] * static_cast<double>(x.v[key + d]);
            to.dv[key + d] += p[j] * static_cast<double>(x.gradient[at + d]);
        }
        mean += p[j] * dot(x.gradient, at, x.v, key);
    }
    for (std::size_t j = 0; j < seen; ++j) {
        const std::size_t key = s.row(b, j, h, s.keys);
        const double ds = p[j] * (dot(x.gradient, at, x.v, key) - mean);
        to.dbias[s.pair(i, j, h)] += ds;
        for (std::size_t d = 0; d < dim; ++d) {
            to.dq[at + d] += scale * ds * static_cast<double>(x.k[key + d]);
            to.dk[key + d] += scale * ds * static_cast<double>(x.q[at + d]);
        }
    }
}

Results in_doubles(const Plain& s, const Operands& x) {
    Results to{Doubles(x.q.size()), Doubles(s.batch * s.heads * s.seq), Doubles(x.q.size()), Doubles(x.k.size()),
               Doubles(x.v.size()), Doubles(x.bias.size(), 2.0)};
    for (std::size_t b = 0; b < s.batch; ++b)
        for (std::size_t i = 0; i < s.seq; ++i)
            for (std::size_t h = 0; h < s.heads; ++h) attend(s, x, b, i, h, to);
    return to;
}

Operands random_operands(const Plain& s) {
    const std::size_t queries = s.batch * s.seq * s.heads * dim, keys = s.batch * s.keys * s.heads * dim;
    return {normal(queries, seed), normal(keys, seed + 1), normal(keys, seed + 2),
            normal(s.seq * s.keys * s.heads, seed + 3), normal(queries, seed + 4)};
}

const Plain shapes[]{
    {2, 5, 5, 3, true}, {2, 5, 7, 3, false}, {1, 150, 300, 2, false}, {1, 300, 300, 1, true}, {3, 1, 2, 1, false}};

/// Gradients of biases are added to what is there: twos.
TEST(PositionBias, IsAddedToScoresAndHasTheirGradients) {
    const auto device = open_device("cpu");
    for (const Plain& s : shapes) {
        const Operands x = random_operands(s);
        const Results expected = in_doubles(s, x);
        const OnDevice<float> q(*device, x.q), k(*device, x.k), v(*device, x.v), bias(*device, x.bias),
            gradient(*device, x.gradient), o(*device, Floats(x.q.size())), lse(*device, Floats(expected.lse.size())),
            dq(*device, Floats(x.q.size())), dk(*device, Floats(x.k.size())), dv(*device, Floats(x.v.size())),
            dbias(*device, Floats(x.bias.size(), 2.0f));
        Settings settings;
        settings.position_bias.values = bias.at();
        launch(*device, s.kernel(Dtype::fp32, false), {q.at(), k.at(), v.at(), o.at(), lse.at()}, settings);
        settings.position_bias.gradient = dbias.at();
        launch(*device, s.kernel(Dtype::fp32, true),
               {q.at(), k.at(), v.at(), o.at(), lse.at(), gradient.at(), dq.at(), dk.at(), dv.at()}, settings);
        expect_close(o.back(), expected.o);
        expect_close(lse.back(), expected.lse);
        expect_close(dq.back(), expected.dq);
        expect_close(dk.back(), expected.dk);
        expect_close(dv.back(), expected.dv);
        expect_close(dbias.back(), expected.dbias);
    }
}

using Halves = std::vector<std::uint16_t>;

Halves halves(Floats& values) {
    Halves list;
    for (float& value : values) {
        list.push_back(to_bf16(static_cast<double>(value)));
        value = static_cast<float>(decode(Format::bf16, &list.back()));
    }
    return list;
}

void expect_near(const Halves& found, const Doubles& expected) {
    ASSERT_EQ(found.size(), expected.size());
    double largest = 0;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(decode(Format::bf16, &found[i]), expected[i], largest / 128) << "element " << i;
}

/// Of operands in 16 bits; results are rounded once, those that are summed once more, and o before the backward.
TEST(PositionBias, HoldsInSixteenBits) {
    const auto device = open_device("cpu");
    for (const Plain& s : shapes) {
        Operands x = random_operands(s);
        const OnDevice<std::uint16_t> q(*device, halves(x.q)), k(*device, halves(x.k)), v(*device, halves(x.v)),
            bias(*device, halves(x.bias)), gradient(*device, halves(x.gradient)), o(*device, Halves(x.q.size())),
            dq(*device, Halves(x.q.size())), dk(*device, Halves(x.k.size())), dv(*device, Halves(x.v.size())),
            dbias(*device, Halves(x.bias.size(), to_bf16(2)));
        const Results expected = in_doubles(s, x);
        const OnDevice<float> lse(*device, Floats(expected.lse.size()));
        Settings settings;
        settings.position_bias.values = bias.at();
        launch(*device, s.kernel(Dtype::bf16, false), {q.at(), k.at(), v.at(), o.at(), lse.at()}, settings);
        settings.position_bias.gradient = dbias.at();
        launch(*device, s.kernel(Dtype::bf16, true),
               {q.at(), k.at(), v.at(), o.at(), lse.at(), gradient.at(), dq.at(), dk.at(), dv.at()}, settings);
        expect_near(o.back(), expected.o);
        expect_near(dq.back(), expected.dq);
        expect_near(dk.back(), expected.dk);
        expect_near(dv.back(), expected.dv);
        expect_near(dbias.back(), expected.dbias);
    }
}

}  // namespace
}  // namespace orrery::kernels::settings_checks
