// Attention in tf32 errs as rounding its operands to tf32 explains: no more, and no less, as a product that stayed in
// fp32 in silence would.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "kernels/number_format.hpp"
#include "tests/kernels/on_device.hpp"
#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels::settings_checks {

namespace {

/// o, dq, dk, dv.
template <class T>
using Outputs = std::array<std::vector<T>, 4>;
constexpr std::array<std::string_view, 4> names{"o", "dq", "dk", "dv"};

/// One head of one sequence, of numbers that tf32 has not.
struct Inputs {
    Attention a;
    Floats q, k, v, d_o;

    explicit Inputs(const Attention& shape) : a(shape) {
        const std::size_t count = std::size_t{a.seq} * a.head_dim;
        q = normal(count, seed);
        k = normal(count, seed + 1);
        v = normal(count, seed + 2);
        d_o = normal(count, seed + 3);
    }
};

/// In double precision. rounded: the operands of all products are rounded to tf32 first, as tensor cores take them.
class Plain {
public:
    Plain(const Inputs& in, bool rounded)
        : in_(in), rounded_(rounded), scale_(1 / std::sqrt(static_cast<double>(in.a.head_dim))) {
        for (auto& output : out_) output.resize(in.q.size());
        for (std::size_t i = 0; i < in.a.seq; ++i) add_query(i);
    }
    [[nodiscard]] const Outputs<double>& outputs() const { return out_; }

private:
    [[nodiscard]] double operand(double x) const {
        if (!rounded_) return x;
        std::array<std::byte, sizeof(float)> bits{};
        encode(Format::tf32, x, bits.data());
        return decode(Format::tf32, bits.data());
    }
    [[nodiscard]] double at(const Floats& x, std::size_t row, std::size_t d) const {
        return operand(static_cast<double>(x[row * in_.a.head_dim + d]));
    }
    [[nodiscard]] double dot(const Floats& x, std::size_t i, const Floats& y, std::size_t j) const {
        double sum = 0;
        for (std::size_t d = 0; d < in_.a.head_dim; ++d) sum += at(x, i, d) * at(y, j, d);
        return sum;
    }

    void add_query(std::size_t i) {
        const std::size_t keys = in_.a.causal ? i + 1 : in_.a.seq, row = i * in_.a.head_dim;
        Doubles weights(keys);
        for (std::size_t j = 0; j < keys; ++j) weights[j] = scale_ * dot(in_.q, i, in_.k, j);
        const double largest = *std::max_element(weights.begin(), weights.end());
        double total = 0, delta = 0;
        for (double& weight : weights) total += weight = std::exp(weight - largest);
        for (std::size_t d = 0; d < in_.a.head_dim; ++d) {
            double& o = out_[0][row + d];
            for (std::size_t j = 0; j < keys; ++j) o += operand(weights[j]) * at(in_.v, j, d) / total;
            delta += o * static_cast<double>(in_.d_o[row + d]);
        }
        for (std::size_t j = 0; j < keys; ++j) {
            const double p = weights[j] / total, ds = operand(p * (dot(in_.d_o, i, in_.v, j) - delta));
            for (std::size_t d = 0; d < in_.a.head_dim; ++d) {
                const std::size_t key = j * in_.a.head_dim + d;
                out_[1][row + d] += scale_ * ds * at(in_.k, j, d);
                out_[2][key] += scale_ * ds * at(in_.q, i, d);
                out_[3][key] += operand(p) * at(in_.d_o, i, d);
            }
        }
    }

    const Inputs& in_;
    bool rounded_;
    double scale_;
    Outputs<double> out_;
};

Outputs<float> run(Device& device, const Inputs& in, Dtype dtype) {
    Attention a = in.a;
    a.dtype = dtype;
    const OnDevice<float> q(device, in.q), k(device, in.k), v(device, in.v), d_o(device, in.d_o);
    const Floats nothing(in.q.size());
    const OnDevice<float> o(device, nothing), dq(device, nothing), dk(device, nothing), dv(device, nothing);
    const OnDevice<float> lse(device, Floats(a.seq));
    launch(device, a, {q.at(), k.at(), v.at(), o.at(), lse.at()}, {});
    a.backward = true;
    launch(device, a, {q.at(), k.at(), v.at(), o.at(), lse.at(), d_o.at(), dq.at(), dk.at(), dv.at()}, {});
    return {o.back(), dq.back(), dk.back(), dv.back()};
}

/// ||x - y|| / ||y||.
template <class T>
double apart(const std::vector<T>& x, const Doubles& y) {
    double squares = 0, differences = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double difference = static_cast<double>(x[i]) - y[i];
        squares += y[i] * y[i];
        differences += difference * difference;
    }
    return std::sqrt(differences / squares);
}

void check_rounding(Device& device, const Attention& shape) {
    SCOPED_TRACE(to_text(Kernel(shape)));
    const Inputs in(shape);
    const Outputs<double> exact = Plain(in, false).outputs(), rounded = Plain(in, true).outputs();
    const Outputs<float> found = run(device, in, Dtype::tf32), single = run(device, in, Dtype::fp32);
    for (std::size_t i = 0; i < names.size(); ++i) {
        SCOPED_TRACE(names[i]);
        const double predicted = apart(rounded[i], exact[i]), error = apart(found[i], exact[i]);
        EXPECT_GT(predicted, unit_roundoff(Format::tf32) / 4);
        EXPECT_GT(error, 0.8 * predicted) << "as if operands kept more bits";
        EXPECT_LT(error, 1.25 * predicted);
        EXPECT_LT(apart(single[i], exact[i]), predicted / 50);
        // Beside it are probabilities that were rounded by an earlier maximum, and numbers close to a tie.
        EXPECT_LT(apart(found[i], rounded[i]), 0.5 * predicted);
    }
}

}  // namespace

void attention_rounds_its_operands_to_tf32(Device& device) {
    for (const std::uint32_t head_dim : {64U, 80U, 96U, 128U})
        for (const bool causal : {true, false})
            for (const std::uint32_t seq : {30U, 150U})
                check_rounding(device, {Dtype::tf32, false, causal, 1, seq, 1, 1, head_dim});
}

}  // namespace orrery::kernels::settings_checks
