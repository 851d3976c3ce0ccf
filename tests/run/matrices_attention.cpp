// Attention, and functions of one number.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "tests/run/matrices.hpp"

namespace orrery::run {

namespace {

const double gelu_rate = std::sqrt(2 / std::numbers::pi);
double gelu_tanh(double t) { return std::tanh(gelu_rate * (t + 0.044715 * t * t * t)); }
double sigmoid(double t) { return 1 / (1 + std::exp(-t)); }

}  // namespace

const Curve gelu{[](double t) { return t / 2 * (1 + gelu_tanh(t)); },
                 [](double t) {
                     const double tanh = gelu_tanh(t);
                     return (1 + tanh) / 2 + t / 2 * (1 - tanh * tanh) * gelu_rate * (1 + 3 * 0.044715 * t * t);
                 }};
const Curve silu{[](double t) { return t * sigmoid(t); },
                 [](double t) { return sigmoid(t) + t * sigmoid(t) * (1 - sigmoid(t)); }};
const Curve relu{[](double t) { return std::max(t, 0.0); }, [](double t) { return t > 0 ? 1.0 : 0.0; }};
const Curve squared_relu{[](double t) { return t > 0 ? t * t : 0; }, [](double t) { return t > 0 ? 2 * t : 0; }};

M Tape::columns(const M& x, std::size_t first, std::size_t count) {
    const M y = std::make_shared<Matrix>(x->rows, count);
    for (std::size_t r = 0; r < x->rows; ++r)
        for (std::size_t c = 0; c < count; ++c) y->value[r * count + c] = x->at(r, first + c);
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < x->rows; ++r)
            for (std::size_t c = 0; c < count; ++c) x->gradient[r * x->cols + first + c] += y->gradient[r * count + c];
    });
    return y;
}

M Tape::beside(const M& a, const M& b) {
    const M y = std::make_shared<Matrix>(a->rows, a->cols + b->cols);
    for (std::size_t r = 0; r < a->rows; ++r)
        for (std::size_t c = 0; c < y->cols; ++c)
            y->value[r * y->cols + c] = c < a->cols ? a->at(r, c) : b->at(r, c - a->cols);
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < a->rows; ++r)
            for (std::size_t c = 0; c < y->cols; ++c)
                (c < a->cols ? a->gradient[r * a->cols + c] : b->gradient[r * b->cols + c - a->cols]) +=
                    y->gradient[r * y->cols + c];
    });
    return y;
}

M Tape::in_rows_of(const M& x, std::size_t cols) {
    const M y = std::make_shared<Matrix>(x->value.size() / cols, cols);
    y->value = x->value;
    backward_.emplace_back([=] {
        for (std::size_t i = 0; i < x->gradient.size(); ++i) x->gradient[i] += y->gradient[i];
    });
    return y;
}

namespace {

/// Where things lie in attention over one sequence.
struct Shape {
    M q, k, v, y;
    Heads of;
    std::size_t dim, value_dim;

    [[nodiscard]] std::size_t kv(std::size_t head) const { return head / (of.heads / of.kv_heads); }
    [[nodiscard]] std::size_t query(std::size_t i, std::size_t h) const { return i * q->cols + h * dim; }
    [[nodiscard]] std::size_t key(std::size_t j, std::size_t h) const { return j * k->cols + kv(h) * dim; }
    [[nodiscard]] std::size_t value(std::size_t j, std::size_t h) const { return j * v->cols + kv(h) * value_dim; }
    [[nodiscard]] std::size_t result(std::size_t i, std::size_t h) const { return i * y->cols + h * value_dim; }
    [[nodiscard]] std::size_t first(std::size_t i) const {
        const std::size_t of_window = of.window == 0 || i < of.window ? 0 : i + 1 - of.window;
        return of.document == 0 ? of_window : std::max(of_window, i - i % of.document);
    }
    [[nodiscard]] std::size_t last(std::size_t i) const {
        if (of.causal) return i + 1;
        return of.document == 0 ? k->rows : i - i % of.document + of.document;
    }
    [[nodiscard]] std::size_t bias(std::size_t i, std::size_t j, std::size_t h) const {
        return of.bucket(static_cast<std::ptrdiff_t>(j) - static_cast<std::ptrdiff_t>(i)) * of.heads + h;
    }
    [[nodiscard]] double factor(std::size_t h, std::size_t i, std::size_t j) const {
        return of.factor ? of.factor(h, i, j) : 1;
    }
    [[nodiscard]] double scale() const { return 1 / std::sqrt(static_cast<double>(dim)); }
    [[nodiscard]] double score(std::size_t i, std::size_t j, std::size_t h) const {
        double dot = 0;
        for (std::size_t d = 0; d < dim; ++d) dot += q->value[query(i, h) + d] * k->value[key(j, h) + d];
        return scale() * dot + (of.bias ? of.bias->value[bias(i, j, h)] : 0);
    }
    /// p: the row of probabilities.
    void forward(std::size_t i, std::size_t h, double* p) const {
        double total = 0;
        for (std::size_t j = first(i); j < last(i); ++j) total += p[j] = std::exp(score(i, j, h));
        for (std::size_t j = first(i); j < last(i); ++j) {
            p[j] /= total;
            const double weight = p[j] * factor(h, i, j);
            for (std::size_t d = 0; d < value_dim; ++d)
                y->value[result(i, h) + d] += weight * v->value[value(j, h) + d];
        }
    }
    void backward(std::size_t i, std::size_t h, const double* p) const {
        const double* const dy = y->gradient.data() + result(i, h);
        std::vector<double> dp(k->rows);
        double mean = 0;
        for (std::size_t j = first(i); j < last(i); ++j) {
            const double by = factor(h, i, j);
            for (std::size_t d = 0; d < value_dim; ++d) {
                dp[j] += by * dy[d] * v->value[value(j, h) + d];
                v->gradient[value(j, h) + d] += by * p[j] * dy[d];
            }
            mean += p[j] * dp[j];
        }
        for (std::size_t j = first(i); j < last(i); ++j) {
            const double ds = p[j] * (dp[j] - mean);
            if (of.bias) of.bias->gradient[bias(i, j, h)] += ds;
            for (std::size_t d = 0; d < dim; ++d) {
                q->gradient[query(i, h) + d] += scale() * ds * k->value[key(j, h) + d];
                k->gradient[key(j, h) + d] += scale() * ds * q->value[query(i, h) + d];
            }
        }
    }
};

}  // namespace

M Tape::attention(const M& queries, const M& keys, const M& values, const Heads& heads) {
    const std::size_t value_dim = values->cols / heads.kv_heads;
    const M y = std::make_shared<Matrix>(queries->rows, heads.heads * value_dim);
    const Shape shape{queries, keys, values, y, heads, queries->cols / heads.heads, value_dim};
    auto p = std::make_shared<std::vector<double>>(heads.heads * queries->rows * keys->rows);
    const auto each = [=](const auto& f) {
        for (std::size_t h = 0; h < heads.heads; ++h)
            for (std::size_t i = 0; i < queries->rows; ++i) f(i, h, p->data() + (h * queries->rows + i) * keys->rows);
    };
    each([&](std::size_t i, std::size_t h, double* row) { shape.forward(i, h, row); });
    backward_.emplace_back(
        [=] { each([&](std::size_t i, std::size_t h, const double* row) { shape.backward(i, h, row); }); });
    return y;
}

}  // namespace orrery::run
