// Operations of a mixture of experts.
#include <algorithm>
#include <cmath>

#include "tests/run/matrices.hpp"

namespace orrery::run {

M Tape::part_of(const M& x, std::size_t index, std::size_t parts) {
    const M y = std::make_shared<Matrix>(x->rows / parts, x->cols);
    const std::size_t first = index * y->value.size();
    for (std::size_t i = 0; i < y->value.size(); ++i) y->value[i] = x->value[first + i];
    backward_.emplace_back([x, y, first] {
        for (std::size_t i = 0; i < y->value.size(); ++i) x->gradient[first + i] += y->gradient[i];
    });
    return y;
}

M Tape::below(const M& a, const M& b) {
    const M y = std::make_shared<Matrix>(a->rows + b->rows, a->cols);
    std::copy(b->value.begin(), b->value.end(), std::copy(a->value.begin(), a->value.end(), y->value.begin()));
    backward_.emplace_back([a, b, y] {
        for (std::size_t i = 0; i < a->value.size(); ++i) a->gradient[i] += y->gradient[i];
        for (std::size_t i = 0; i < b->value.size(); ++i) b->gradient[i] += y->gradient[a->value.size() + i];
    });
    return y;
}

M Tape::softmax(const M& x) {
    const M y = std::make_shared<Matrix>(x->rows, x->cols);
    for (std::size_t r = 0; r < x->rows; ++r) {
        double largest = x->at(r, 0), sum = 0;
        for (std::size_t c = 0; c < x->cols; ++c) largest = std::max(largest, x->at(r, c));
        for (std::size_t c = 0; c < x->cols; ++c) sum += std::exp(x->at(r, c) - largest);
        for (std::size_t c = 0; c < x->cols; ++c) y->value[r * x->cols + c] = std::exp(x->at(r, c) - largest) / sum;
    }
    backward_.emplace_back([x, y] {
        for (std::size_t r = 0; r < x->rows; ++r) {
            double mean = 0;
            for (std::size_t c = 0; c < x->cols; ++c) mean += y->at(r, c) * y->gradient[r * y->cols + c];
            for (std::size_t c = 0; c < x->cols; ++c) {
                const std::size_t i = r * x->cols + c;
                x->gradient[i] += y->value[i] * (y->gradient[i] - mean);
            }
        }
    });
    return y;
}

M Tape::weighed(const M& x, const M& probabilities, std::size_t own, const std::vector<std::size_t>& chosen) {
    const M y = std::make_shared<Matrix>(x->rows, x->cols);
    const bool alone = chosen.size() == 1;
    double sum = 0;
    for (const std::size_t c : chosen) sum += probabilities->value[c];
    const double weight = probabilities->value[own] / (alone ? 1 : sum);
    for (std::size_t i = 0; i < x->value.size(); ++i) y->value[i] = weight * x->value[i];
    backward_.emplace_back([=] {
        double gradient = 0;  // of the weight
        for (std::size_t i = 0; i < x->value.size(); ++i) {
            gradient += y->gradient[i] * x->value[i];
            x->gradient[i] += weight * y->gradient[i];
        }
        probabilities->gradient[own] += gradient / (alone ? 1 : sum);
        for (const std::size_t c : chosen)
            if (!alone) probabilities->gradient[c] -= gradient * weight / sum;
    });
    return y;
}

}  // namespace orrery::run
