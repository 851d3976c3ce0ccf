#include "tests/run/matrices.hpp"

#include <algorithm>
#include <cmath>

namespace orrery::run {

namespace {

M fresh(std::size_t rows, std::size_t cols) { return std::make_shared<Matrix>(rows, cols); }

constexpr double epsilon = 1e-5;

}  // namespace

M Tape::product(const M& x, const M& w) {
    const M y = fresh(x->rows, w->rows);
    for (std::size_t r = 0; r < x->rows; ++r)
        for (std::size_t o = 0; o < w->rows; ++o)
            for (std::size_t i = 0; i < x->cols; ++i) y->value[r * y->cols + o] += x->at(r, i) * w->at(o, i);
    backward_.emplace_back([x, w, y] {
        for (std::size_t r = 0; r < x->rows; ++r)
            for (std::size_t o = 0; o < w->rows; ++o) {
                const double g = y->gradient[r * y->cols + o];
                for (std::size_t i = 0; i < x->cols; ++i) {
                    x->gradient[r * x->cols + i] += g * w->at(o, i);
                    w->gradient[o * w->cols + i] += g * x->at(r, i);
                }
            }
    });
    return y;
}

M Tape::plus(const M& a, const M& b) {
    const M y = fresh(a->rows, a->cols);
    for (std::size_t i = 0; i < y->value.size(); ++i) y->value[i] = a->value[i] + b->value[i];
    backward_.emplace_back([a, b, y] {
        for (std::size_t i = 0; i < y->value.size(); ++i) {
            a->gradient[i] += y->gradient[i];
            b->gradient[i] += y->gradient[i];
        }
    });
    return y;
}

M Tape::plus_row(const M& x, const M& row) {
    const M y = fresh(x->rows, x->cols);
    for (std::size_t i = 0; i < y->value.size(); ++i) y->value[i] = x->value[i] + row->value[i % x->cols];
    backward_.emplace_back([x, row, y] {
        for (std::size_t i = 0; i < y->value.size(); ++i) {
            x->gradient[i] += y->gradient[i];
            row->gradient[i % x->cols] += y->gradient[i];
        }
    });
    return y;
}

M Tape::times(const M& x, const std::vector<double>& factors) {
    const M y = fresh(x->rows, x->cols);
    for (std::size_t i = 0; i < factors.size(); ++i) y->value[i] = factors[i] * x->value[i];
    backward_.emplace_back([x, y, factors] {
        for (std::size_t i = 0; i < factors.size(); ++i) x->gradient[i] += factors[i] * y->gradient[i];
    });
    return y;
}

M Tape::layernorm(const M& x, const M& gamma, const M& beta) { return norm(x, gamma, beta); }
M Tape::rmsnorm(const M& x, const M& gamma) { return norm(x, gamma, nullptr); }

/// beta: null for RMSNorm, which does not centre.
M Tape::norm(const M& x, const M& gamma, const M& beta) {
    const M y = fresh(x->rows, x->cols), h = fresh(x->rows, x->cols);
    const auto n = static_cast<double>(x->cols);
    std::vector<double> rates(x->rows);
    for (std::size_t r = 0; r < x->rows; ++r) {
        double mean = 0, variance = 0;
        if (beta)
            for (std::size_t c = 0; c < x->cols; ++c) mean += x->at(r, c) / n;
        for (std::size_t c = 0; c < x->cols; ++c) variance += (x->at(r, c) - mean) * (x->at(r, c) - mean) / n;
        rates[r] = 1 / std::sqrt(variance + epsilon);
        for (std::size_t c = 0; c < x->cols; ++c) {
            const std::size_t i = r * x->cols + c;
            h->value[i] = (x->value[i] - mean) * rates[r];
            y->value[i] = h->value[i] * gamma->value[c] + (beta ? beta->value[c] : 0);
        }
    }
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < x->rows; ++r) {
            double sum = 0, dot = 0;
            for (std::size_t c = 0; c < x->cols; ++c) {
                const std::size_t i = r * x->cols + c;
                sum += y->gradient[i] * gamma->value[c] / n;
                dot += y->gradient[i] * gamma->value[c] * h->value[i] / n;
                gamma->gradient[c] += y->gradient[i] * h->value[i];
                if (beta) beta->gradient[c] += y->gradient[i];
            }
            for (std::size_t c = 0; c < x->cols; ++c) {
                const std::size_t i = r * x->cols + c;
                x->gradient[i] += rates[r] * (y->gradient[i] * gamma->value[c] - (beta ? sum : 0) - h->value[i] * dot);
            }
        }
    });
    return y;
}

M Tape::applied(const M& x, const Curve& f) {
    const M y = fresh(x->rows, x->cols);
    for (std::size_t i = 0; i < x->value.size(); ++i) y->value[i] = f.value(x->value[i]);
    backward_.emplace_back([x, y, f] {
        for (std::size_t i = 0; i < x->value.size(); ++i) x->gradient[i] += y->gradient[i] * f.slope(x->value[i]);
    });
    return y;
}

M Tape::gated(const M& x, const Curve& f) {
    const std::size_t half = x->cols / 2;
    const M y = fresh(x->rows, half);
    for (std::size_t r = 0; r < x->rows; ++r)
        for (std::size_t c = 0; c < half; ++c) y->value[r * half + c] = f.value(x->at(r, c)) * x->at(r, half + c);
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < x->rows; ++r)
            for (std::size_t c = 0; c < half; ++c) {
                const double gate = x->at(r, c), g = y->gradient[r * half + c];
                x->gradient[r * x->cols + c] += g * x->at(r, half + c) * f.slope(gate);
                x->gradient[r * x->cols + half + c] += g * f.value(gate);
            }
    });
    return y;
}

M Tape::rows_of(const M& table, const std::vector<std::int32_t>& ids) {
    const M y = fresh(ids.size(), table->cols);
    for (std::size_t r = 0; r < ids.size(); ++r)
        for (std::size_t c = 0; c < y->cols; ++c)
            y->value[r * y->cols + c] = table->at(static_cast<std::size_t>(ids[r]), c);
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < ids.size(); ++r)
            for (std::size_t c = 0; c < y->cols; ++c)
                table->gradient[static_cast<std::size_t>(ids[r]) * y->cols + c] += y->gradient[r * y->cols + c];
    });
    return y;
}

M Tape::first_rows(const M& table, std::size_t count) {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int32_t>(i));
    return rows_of(table, ids);
}

M Tape::rope(const M& x, std::size_t heads, std::size_t head_dim) {
    const M y = fresh(x->rows, x->cols);
    y->value = x->value;
    const auto each = [=](const auto& f) {
        for (std::size_t r = 0; r < x->rows; ++r)
            for (std::size_t h = 0; h < heads; ++h)
                for (std::size_t i = 0; i < head_dim / 2; ++i) {
                    const double angle = static_cast<double>(r) *
                                         std::pow(10000, -2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
                    f(r * x->cols + h * head_dim + 2 * i, std::cos(angle), std::sin(angle));
                }
    };
    each([&](std::size_t at, double cos, double sin) {
        y->value[at] = x->value[at] * cos - x->value[at + 1] * sin;
        y->value[at + 1] = x->value[at] * sin + x->value[at + 1] * cos;
    });
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < x->rows; ++r)
            for (std::size_t c = heads * head_dim; c < x->cols; ++c)
                x->gradient[r * x->cols + c] += y->gradient[r * x->cols + c];
        each([&](std::size_t at, double cos, double sin) {
            x->gradient[at] += y->gradient[at] * cos + y->gradient[at + 1] * sin;
            x->gradient[at + 1] += -y->gradient[at] * sin + y->gradient[at + 1] * cos;
        });
    });
    return y;
}

M Tape::cross_entropy(const M& logits, const std::vector<std::int32_t>& targets, std::size_t classes) {
    const M loss = fresh(1, 1), p = fresh(logits->rows, classes);
    const auto n = static_cast<double>(logits->rows);
    for (std::size_t r = 0; r < logits->rows; ++r) {
        double total = 0;
        for (std::size_t c = 0; c < classes; ++c) total += std::exp(logits->at(r, c));
        for (std::size_t c = 0; c < classes; ++c) p->value[r * classes + c] = std::exp(logits->at(r, c)) / total;
        loss->value[0] += (std::log(total) - logits->at(r, static_cast<std::size_t>(targets[r]))) / n;
    }
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < logits->rows; ++r)
            for (std::size_t c = 0; c < classes; ++c)
                logits->gradient[r * logits->cols + c] +=
                    loss->gradient[0] / n * (p->at(r, c) - (c == static_cast<std::size_t>(targets[r]) ? 1 : 0));
    });
    return loss;
}

void Tape::backward(const M& loss, double gradient) {
    loss->gradient[0] = gradient;
    for (auto step = backward_.rbegin(); step != backward_.rend(); ++step) (*step)();
    backward_.clear();
}

}  // namespace orrery::run
