// Launches of layers with experts.
#include <numeric>

#include "tests/kernels/on_device.hpp"
#include "tests/kernels/settings_checks.hpp"

namespace orrery::kernels::settings_checks {

namespace {

/// top_k different experts of each token.
Ids choices(std::size_t tokens, std::size_t experts, std::size_t top_k) {
    Ids chosen;
    for (std::size_t t = 0; t < tokens; ++t)
        for (std::size_t j = 0; j < top_k; ++j) chosen.push_back(static_cast<std::int32_t>((7 * t + 3 * j) % experts));
    return chosen;
}

/// Probabilities of one row of logits.
Doubles softmax(const Floats& logits, std::size_t row, std::size_t cols) {
    Doubles values;
    for (std::size_t c = 0; c < cols; ++c) values.push_back(std::exp(static_cast<double>(logits[row * cols + c])));
    const double total = std::accumulate(values.begin(), values.end(), 0.0);
    for (double& value : values) value /= total;
    return values;
}

/// What the given experts of one token weigh.
Doubles weights_of(const Doubles& probabilities, const std::int32_t* chosen, std::size_t top_k) {
    Doubles weights;
    for (std::size_t j = 0; j < top_k; ++j) weights.push_back(probabilities[static_cast<std::size_t>(chosen[j])]);
    const double total = top_k == 1 ? 1.0 : std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= total;
    return weights;
}

/// d(sum of dweight x weight) / d(logit c) by the quotient rule: weights are exponentials over a sum of exponentials.
double logit_gradient(const Doubles& probabilities, const Doubles& weights, const std::int32_t* chosen,
                      const float* dweight, std::size_t top_k, std::size_t c) {
    double gradient = 0, own = 0;
    for (std::size_t j = 0; j < top_k; ++j)
        if (static_cast<std::size_t>(chosen[j]) == c) own = top_k == 1 ? 1 : weights[j];
    for (std::size_t j = 0; j < top_k; ++j) {
        const double itself = static_cast<std::size_t>(chosen[j]) == c ? 1 : 0;
        const double of_sum = top_k == 1 ? probabilities[c] : own;
        gradient += static_cast<double>(dweight[j]) * weights[j] * (itself - of_sum);
    }
    return gradient;
}

void check_gate(Device& device, std::size_t tokens, std::size_t experts, std::size_t top_k) {
    SCOPED_TRACE(testing::Message() << experts << " experts, " << top_k << " a token");
    const Floats logits = normal(tokens * experts, seed), dweights = normal(tokens * top_k, seed + 1);
    const Ids chosen = choices(tokens, experts, top_k);
    Doubles probabilities, weights, gradients;
    for (std::size_t t = 0; t < tokens; ++t) {
        const Doubles p = softmax(logits, t, experts), w = weights_of(p, &chosen[t * top_k], top_k);
        probabilities.insert(probabilities.end(), p.begin(), p.end());
        weights.insert(weights.end(), w.begin(), w.end());
        for (std::size_t c = 0; c < experts; ++c)
            gradients.push_back(logit_gradient(p, w, &chosen[t * top_k], &dweights[t * top_k], top_k, c));
    }
    const OnDevice<float> x(device, logits), y(device, Floats(logits.size())), weight(device, Floats(dweights.size()));
    const OnDevice<float> dweight(device, dweights), dx(device, Floats(logits.size()));
    const OnDevice<std::int32_t> given(device, chosen);
    Settings settings;
    settings.top_k = top_k;
    settings.experts = given.at();
    launch(device, over(PointwiseKind::moe_gate, tokens, experts), {x.at(), y.at(), given.at(), weight.at()}, settings);
    expect_close(y.back(), probabilities);
    expect_close(weight.back(), weights);
    EXPECT_EQ(given.back(), chosen);
    launch(device, over(PointwiseKind::softmax_backward, tokens, experts), {y.at(), dweight.at(), dx.at()}, settings);
    expect_close(dx.back(), gradients);
}

void check_copies(Device& device, std::size_t tokens, std::size_t cols, std::size_t top_k) {
    SCOPED_TRACE(testing::Message() << top_k << " copies of " << cols << " columns");
    const std::size_t rows = tokens * top_k;
    const Floats x = normal(tokens * cols, seed), back = normal(rows * cols, seed + 1),
                 weights = normal(rows, seed + 2);
    Ids source(rows), position(rows);
    for (std::size_t r = 0; r < rows; ++r) {
        source[r] = static_cast<std::int32_t>((r * 5 + 3) % rows);  // rows is no multiple of 5
        position[static_cast<std::size_t>(source[r])] = static_cast<std::int32_t>(r);
    }
    Doubles moved(rows * cols), combined(tokens * cols), gradient(rows * cols), dweights(rows);
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < cols; ++c) {
            const auto copy = static_cast<std::size_t>(source[r]);
            const double of_token = static_cast<double>(x[copy / top_k * cols + c]);
            const double weight = static_cast<double>(weights[copy]), result = static_cast<double>(back[r * cols + c]);
            moved[r * cols + c] = of_token;
            combined[copy / top_k * cols + c] += weight * result;
            gradient[r * cols + c] = weight * of_token;
            dweights[copy] += of_token * result;
        }
    const OnDevice<float> from(device, x), to(device, Floats(rows * cols)), results(device, back);
    const OnDevice<float> weight(device, weights), sum(device, Floats(x.size())), dweight(device, Floats(rows));
    const OnDevice<std::int32_t> sources(device, source), positions(device, position);
    Settings settings;
    settings.top_k = top_k;
    launch(device, over(PointwiseKind::permute, rows, cols), {from.at(), sources.at(), to.at()}, settings);
    expect_close(to.back(), moved);
    launch(device, over(PointwiseKind::unpermute, rows, cols), {results.at(), positions.at(), weight.at(), sum.at()},
           settings);
    expect_close(sum.back(), combined);
    settings.unpermuted = {results.at(), weight.at(), dweight.at()};
    launch(device, over(PointwiseKind::permute, rows, cols), {from.at(), sources.at(), to.at()}, settings);
    expect_close(to.back(), gradient);
    expect_close(dweight.back(), dweights);
}

}  // namespace

void batched_products_add_a_bias_each(Device& device) {
    constexpr std::size_t batch = 3, m = 20, n = 28, k = 12;
    const Floats a = normal(batch * m * k, seed), b = normal(batch * n * k, seed + 1);
    const Floats c = normal(batch * m * n, seed + 2), bias = normal(batch * n, seed + 3);
    for (const bool biased : {true, false}) {
        Doubles expected(c.begin(), c.end());
        for (std::size_t i = 0; i < c.size(); ++i) {
            const std::size_t one = i / (m * n), row = i / n % m, col = i % n;
            if (biased) expected[i] = static_cast<double>(bias[one * n + col]);
            for (std::size_t j = 0; j < k; ++j)
                expected[i] +=
                    static_cast<double>(a[(one * m + row) * k + j]) * static_cast<double>(b[(one * n + col) * k + j]);
        }
        const OnDevice<float> left(device, a), right(device, b), result(device, c), rows(device, bias);
        Settings settings;
        settings.accumulate = !biased;
        settings.bias = biased ? rows.at() : nullptr;
        launch(device, Gemm{Dtype::fp32, batch, m, n, k}, {left.at(), right.at(), result.at()}, settings);
        expect_close(result.back(), expected);
    }
}

void gates_take_given_experts(Device& device) {
    for (const std::size_t top_k : {1, 2, 3, 5}) {
        check_gate(device, 37, 8, top_k);
        check_gate(device, 5, 130, top_k);
    }
}

void tokens_have_any_number_of_copies(Device& device) {
    for (const std::size_t top_k : {1, 2, 3, 6})
        for (const std::size_t cols : {4, 7, 640}) check_copies(device, 32, cols, top_k);
}

}  // namespace orrery::kernels::settings_checks
