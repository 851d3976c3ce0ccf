#include "tests/run/agreement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace orrery::run {

namespace {

/// The trained and the expected value of the elements of one parameter that are looked at; empty where one is nowhere.
std::vector<std::pair<double, double>> pairs_of(const Trained& trained, const std::string& name,
                                                const std::vector<double>& expected, double clip) {
    const auto found = trained.gradients.find(name);
    if (found == trained.gradients.end()) return {};
    std::vector<std::pair<double, double>> pairs;
    for (std::size_t i = 0; i < expected.size(); i += one_of(expected.size())) {
        const auto element = found->second.find(i);
        if (element == found->second.end()) return {};
        pairs.emplace_back(element->second, clip * expected[i]);
    }
    return pairs;
}

template <class Judge>
void for_each_gradient(const Trained& trained, const ReferenceStep& reference, double most, const Judge& judge) {
    const double clip = most / (reference.gradient_norm + 1e-6);
    for (const auto& [name, expected] : reference.gradients) {
        SCOPED_TRACE(name);
        const auto pairs = pairs_of(trained, name, expected, clip);
        const std::uint64_t looked_at = one_of(expected.size());
        ASSERT_EQ(pairs.size(), (expected.size() + looked_at - 1) / looked_at) << "elements are nowhere";
        judge(pairs);
    }
}

}  // namespace

/// A gradient has met some ten operators of each of four layers on its way forth and back; each rounds its result, with
/// an error of half a unit in the last place / sqrt(3) in the norm (uniform within it), and errors add up as in a
/// random walk.
double half_gradient_error() { return 1.0 / 256 / std::sqrt(3.0) * std::sqrt(2 * 4 * 10.0); }

/// Logits of these models deviate by 0.3 and are wrong by that share of it: averaged over a step's 64 tokens the loss
/// is wrong by 0.3 half_gradient_error / 8 = 8e-4. Each update before, by gradients as wrong, adds as much in a random
/// direction. Twice that is allowed, of losses around 5.
double half_loss_error(std::uint32_t steps) { return 2 * 0.3 * half_gradient_error() / 8 * std::sqrt(1.0 + steps) / 5; }

void expect_losses(const Trained& trained, const std::vector<ReferenceStep>& reference, double error) {
    ASSERT_LT(reference.back().loss, reference.front().loss - 0.1) << "the reference does not learn";
    ASSERT_EQ(trained.losses.size(), reference.size());
    for (std::size_t step = 0; step < reference.size(); ++step)
        EXPECT_NEAR(trained.losses[step], reference[step].loss, error * reference[step].loss) << "step " << step;
}

void expect_gradient_elements(const Trained& trained, const ReferenceStep& reference, double most, double error) {
    ASSERT_GT(reference.gradient_norm, most) << "clipping does nothing";
    for_each_gradient(trained, reference, most, [error](const auto& pairs) {
        double largest = 0, difference = 0;
        for (const auto& [value, expected] : pairs) {
            largest = std::max(largest, std::abs(expected));
            difference = std::max(difference, std::abs(value - expected));
        }
        EXPECT_GT(largest, 0);
        EXPECT_LT(difference, error * largest);
    });
}

void expect_gradient_norms(const Trained& trained, const ReferenceStep& reference, double most, double error) {
    ASSERT_GT(reference.gradient_norm, most) << "clipping does nothing";
    for_each_gradient(trained, reference, most, [error](const auto& pairs) {
        double squares = 0, differences = 0;
        for (const auto& [value, expected] : pairs) {
            squares += expected * expected;
            differences += (value - expected) * (value - expected);
        }
        EXPECT_GT(squares, 0);
        EXPECT_LT(std::sqrt(differences / squares), error);
    });
}

}  // namespace orrery::run
