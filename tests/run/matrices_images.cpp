// Operations over images: rows are pixels of one image after the other, columns are channels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/run/matrices.hpp"

namespace orrery::run {

namespace {

/// Windows that move over images of `size` rows and as many columns.
struct Moving {
    Windows of;
    std::size_t images, out;

    Moving(const M& x, const Windows& windows)
        : of(windows),
          images(x->rows / (windows.size * windows.size)),
          out((windows.size + 2 * windows.padding - windows.kernel) / windows.stride + 1) {}
    /// visit(row of the result, row of the image, place in the window), but for those outside it.
    void each(const auto& visit) const {
        for (std::size_t image = 0; image < images; ++image)
            for (std::size_t r = 0; r < out; ++r)
                for (std::size_t c = 0; c < out; ++c) window(image, r, c, visit);
    }

private:
    void window(std::size_t image, std::size_t r, std::size_t c, const auto& visit) const {
        for (std::size_t i = 0; i < of.kernel; ++i)
            for (std::size_t j = 0; j < of.kernel; ++j) {
                const std::size_t row = r * of.stride + i - of.padding, column = c * of.stride + j - of.padding;
                if (row >= of.size || column >= of.size) continue;  // negative ones are large
                visit((image * out + r) * out + c, (image * of.size + row) * of.size + column, i * of.kernel + j);
            }
    }
};

constexpr double norm_epsilon = 1e-5;

}  // namespace

M Tape::convolution(const M& x, const M& w, const Windows& windows) {
    const Moving shape(x, windows);
    const M y = std::make_shared<Matrix>(shape.images * shape.out * shape.out, w->rows);
    const std::size_t channels = x->cols, outputs = w->rows;
    std::vector<double> turned(w->value.size());  // outputs next to each other, so that loops are over vectors
    for (std::size_t o = 0; o < outputs; ++o)
        for (std::size_t i = 0; i < w->cols; ++i) turned[i * outputs + o] = w->at(o, i);
    shape.each([&](std::size_t to, std::size_t from, std::size_t place) {
        double* const row = y->value.data() + to * outputs;
        for (std::size_t c = 0; c < channels; ++c) {
            const double* const weights = turned.data() + (place * channels + c) * outputs;
            const double value = x->at(from, c);
            for (std::size_t o = 0; o < outputs; ++o) row[o] += value * weights[o];
        }
    });
    backward_.emplace_back([=] {
        shape.each([&](std::size_t to, std::size_t from, std::size_t place) {
            double* const dx = x->gradient.data() + from * channels;
            const double* const image = x->value.data() + from * channels;
            for (std::size_t o = 0; o < w->rows; ++o) {
                const double g = y->gradient[to * y->cols + o];
                if (g == 0) continue;
                double* const dw = w->gradient.data() + o * w->cols + place * channels;
                const double* const weights = w->value.data() + o * w->cols + place * channels;
                for (std::size_t c = 0; c < channels; ++c) {
                    dx[c] += g * weights[c];
                    dw[c] += g * image[c];
                }
            }
        });
    });
    return y;
}

/// The first of equal ones takes the gradient.
M Tape::largest(const M& x, const Windows& windows) {
    const Moving shape(x, windows);
    const M y = std::make_shared<Matrix>(shape.images * shape.out * shape.out, x->cols);
    std::fill(y->value.begin(), y->value.end(), -std::numeric_limits<double>::infinity());
    std::vector<std::size_t> chosen(y->value.size());
    shape.each([&](std::size_t to, std::size_t from, std::size_t) {
        for (std::size_t c = 0; c < x->cols; ++c) {
            const std::size_t at = to * x->cols + c;
            if (x->at(from, c) <= y->value[at]) continue;
            y->value[at] = x->at(from, c);
            chosen[at] = from * x->cols + c;
        }
    });
    backward_.emplace_back([=] {
        for (std::size_t i = 0; i < chosen.size(); ++i) x->gradient[chosen[i]] += y->gradient[i];
    });
    return y;
}

M Tape::mean_of(const M& x, std::size_t rows) {
    const M y = std::make_shared<Matrix>(x->rows / rows, x->cols);
    const auto share = 1 / static_cast<double>(rows);
    for (std::size_t r = 0; r < x->rows; ++r)
        for (std::size_t c = 0; c < x->cols; ++c) y->value[r / rows * x->cols + c] += share * x->at(r, c);
    backward_.emplace_back([=] {
        for (std::size_t r = 0; r < x->rows; ++r)
            for (std::size_t c = 0; c < x->cols; ++c)
                x->gradient[r * x->cols + c] += share * y->gradient[r / rows * x->cols + c];
    });
    return y;
}

M Tape::batch_norm(const M& x, const M& gamma, const M& beta) {
    const M y = std::make_shared<Matrix>(x->rows, x->cols), h = std::make_shared<Matrix>(x->rows, x->cols);
    const auto n = static_cast<double>(x->rows);
    std::vector<double> rates(x->cols);
    for (std::size_t c = 0; c < x->cols; ++c) {
        double mean = 0, variance = 0;
        for (std::size_t r = 0; r < x->rows; ++r) mean += x->at(r, c) / n;
        for (std::size_t r = 0; r < x->rows; ++r) variance += (x->at(r, c) - mean) * (x->at(r, c) - mean) / n;
        rates[c] = 1 / std::sqrt(variance + norm_epsilon);
        for (std::size_t r = 0; r < x->rows; ++r) {
            h->value[r * x->cols + c] = (x->at(r, c) - mean) * rates[c];
            y->value[r * x->cols + c] = h->at(r, c) * gamma->value[c] + beta->value[c];
        }
    }
    backward_.emplace_back([=] {
        for (std::size_t c = 0; c < x->cols; ++c) {
            double sum = 0, dot = 0;
            for (std::size_t r = 0; r < x->rows; ++r) {
                sum += y->gradient[r * x->cols + c];
                dot += y->gradient[r * x->cols + c] * h->at(r, c);
            }
            gamma->gradient[c] += dot;
            beta->gradient[c] += sum;
            for (std::size_t r = 0; r < x->rows; ++r)
                x->gradient[r * x->cols + c] +=
                    gamma->value[c] * rates[c] * (y->gradient[r * x->cols + c] - sum / n - h->at(r, c) * dot / n);
        }
    });
    return y;
}

}  // namespace orrery::run
