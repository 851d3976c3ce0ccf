#include "sim/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace orrery::sim {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct FlowSpec {
    std::vector<LinkUse> uses;
    double limit = infinity;
};

MaxMinProblem problem(std::vector<double> capacity, const std::vector<FlowSpec>& flows) {
    MaxMinProblem made;
    made.capacity = std::move(capacity);
    for (const auto& flow : flows) {
        made.uses.insert(made.uses.end(), flow.uses.begin(), flow.uses.end());
        made.close_flow(flow.limit);
    }
    return made;
}

std::vector<double> solve(const MaxMinProblem& problem) {
    MaxMinSolver solver;
    const auto rates = solver.solve(problem);
    return {rates.begin(), rates.end()};
}

std::vector<double> loads(const MaxMinProblem& problem, std::span<const double> rates) {
    std::vector<double> load(problem.capacity.size(), 0.0);
    for (std::size_t f = 0; f < rates.size(); ++f)
        for (std::uint32_t u = problem.first_use[f]; u < problem.first_use[f + 1]; ++u)
            load[problem.uses[u].link] += problem.uses[u].weight * rates[f];
    return load;
}

/// The certificate of max-min fairness: no link over its capacity, no flow over its limit, and each flow is at its
/// limit or crosses a full link on which nobody is faster.
void expect_max_min(const MaxMinProblem& problem, std::span<const double> rates) {
    constexpr double tolerance = 1e-9;
    const auto load = loads(problem, rates);
    std::vector<double> fastest(load.size(), 0.0);
    for (std::size_t f = 0; f < rates.size(); ++f)
        for (std::uint32_t u = problem.first_use[f]; u < problem.first_use[f + 1]; ++u)
            fastest[problem.uses[u].link] = std::max(fastest[problem.uses[u].link], rates[f]);
    for (std::size_t l = 0; l < load.size(); ++l) EXPECT_LE(load[l], problem.capacity[l] * (1 + tolerance)) << l;
    for (std::size_t f = 0; f < rates.size(); ++f) {
        EXPECT_GT(rates[f], 0.0);
        EXPECT_LE(rates[f], problem.limit[f] * (1 + tolerance));
        bool bound = rates[f] >= problem.limit[f] * (1 - tolerance);
        for (std::uint32_t u = problem.first_use[f]; u < problem.first_use[f + 1]; ++u) {
            const auto link = problem.uses[u].link;
            bound |=
                load[link] >= problem.capacity[link] * (1 - tolerance) && rates[f] >= fastest[link] * (1 - tolerance);
        }
        EXPECT_TRUE(bound) << "flow " << f << " could be faster than " << rates[f];
    }
}

/// Water filling by its definition: raise all open flows together to the next thing that binds, and again.
std::vector<double> fill_by_definition(const MaxMinProblem& problem) {
    const std::size_t flows = problem.limit.size();
    std::vector<double> rate(flows, 0.0);
    std::vector<bool> open(flows, true);
    while (std::find(open.begin(), open.end(), true) != open.end()) {
        const auto load = loads(problem, rate);
        std::vector<double> growing(load.size(), 0.0);
        double step = infinity;
        for (std::size_t f = 0; f < flows; ++f) {
            if (!open[f]) continue;
            step = std::min(step, problem.limit[f] - rate[f]);
            for (std::uint32_t u = problem.first_use[f]; u < problem.first_use[f + 1]; ++u)
                growing[problem.uses[u].link] += problem.uses[u].weight;
        }
        for (std::size_t l = 0; l < load.size(); ++l)
            if (growing[l] > 0.0) step = std::min(step, std::max(0.0, problem.capacity[l] - load[l]) / growing[l]);
        for (std::size_t f = 0; f < flows; ++f)
            if (open[f]) rate[f] += step;
        const auto now = loads(problem, rate);
        for (std::size_t f = 0; f < flows; ++f) {
            if (rate[f] >= problem.limit[f] * (1 - 1e-12)) open[f] = false;
            for (std::uint32_t u = problem.first_use[f]; u < problem.first_use[f + 1]; ++u)
                if (now[problem.uses[u].link] >= problem.capacity[problem.uses[u].link] * (1 - 1e-12)) open[f] = false;
        }
    }
    return rate;
}

MaxMinProblem random_problem(std::uint64_t seed, double spread) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    std::uniform_real_distribution<double> exponent(-spread, spread);
    const auto any = [&] { return std::pow(10.0, exponent(random)); };
    const std::uint32_t links = 1 + below(12), flows = 1 + below(25);
    std::vector<double> capacity(links);
    for (auto& c : capacity) c = below(2) ? 1e9 * any() : 1e9;
    std::vector<FlowSpec> specs(flows);
    for (auto& flow : specs) {
        for (std::uint32_t n = 1 + below(4); n > 0; --n) flow.uses.push_back({below(links), below(2) ? any() : 1.0});
        if (below(3) == 0) flow.limit = 2e8 * any();
    }
    return problem(std::move(capacity), specs);
}

TEST(MaxMin, OneLinkIsSharedEvenly) {
    const auto rates = solve(problem({9e9}, {{{{0, 1}}}, {{{0, 1}}}, {{{0, 1}}}}));
    EXPECT_EQ(rates, (std::vector<double>{3e9, 3e9, 3e9}));
}

TEST(MaxMin, ALimitedFlowLeavesItsShareToOthers) {
    const auto rates = solve(problem({9e9}, {{{{0, 1}}, 1e9}, {{{0, 1}}}, {{{0, 1}}}}));
    EXPECT_EQ(rates, (std::vector<double>{1e9, 4e9, 4e9}));
}

TEST(MaxMin, WeightsLoadTheLinkNotTheFlow) {
    // Rates are equal; the heavy flow takes three quarters of the link.
    const auto rates = solve(problem({8e9}, {{{{0, 3}}}, {{{0, 1}}}}));
    EXPECT_EQ(rates, (std::vector<double>{2e9, 2e9}));
}

TEST(MaxMin, TheTextbookLine) {
    // Three links in a row, one flow over all of them and one over each.
    const auto rates = solve(problem({1, 2, 4}, {{{{0, 1}, {1, 1}, {2, 1}}}, {{{0, 1}}}, {{{1, 1}}}, {{{2, 1}}}}));
    EXPECT_EQ(rates, (std::vector<double>{0.5, 0.5, 1.5, 3.5}));
}

TEST(MaxMin, ALinkNamedTwiceCountsTwice) {
    EXPECT_EQ(solve(problem({6}, {{{{0, 1}, {0, 1}}}, {{{0, 1}}}})), (std::vector<double>{2, 2}));
}

TEST(MaxMin, NothingBindsAFlowWithoutLinks) {
    EXPECT_EQ(solve(problem({}, {{{}, 5.0}, {{}}})), (std::vector<double>{5.0, infinity}));
    EXPECT_TRUE(solve(problem({1.0}, {})).empty());
}

TEST(MaxMin, SmallWeightsBesideLargeOnesKeepTheirDigits) {
    // After the heavy flow is fixed by link 1, link 0 has 1e9 - 1e6 x 500 left for the light one, of weight 1e-6.
    const auto rates = solve(problem({1e9, 500}, {{{{0, 1e6}, {1, 1}}}, {{{0, 1e-6}}}}));
    EXPECT_DOUBLE_EQ(rates[0], 500);
    EXPECT_DOUBLE_EQ(rates[1], 5e14);
}

TEST(MaxMin, RandomInstancesHoldTheCertificate) {
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        SCOPED_TRACE(seed);
        const auto instance = random_problem(seed, seed % 3 == 0 ? 3.0 : 1.0);
        expect_max_min(instance, solve(instance));
        if (HasFailure()) break;
    }
}

TEST(MaxMin, RandomInstancesEqualTheDefinition) {
    for (std::uint64_t seed = 0; seed < 1000; ++seed) {
        SCOPED_TRACE(seed);
        const auto instance = random_problem(seed, 1.0);
        const auto rates = solve(instance), expected = fill_by_definition(instance);
        for (std::size_t f = 0; f < rates.size(); ++f) EXPECT_NEAR(rates[f], expected[f], 1e-9 * expected[f]);
        if (HasFailure()) break;
    }
}

TEST(MaxMin, ASolverMayBeUsedAgain) {
    MaxMinSolver solver;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        const auto instance = random_problem(seed, 1.0);
        const auto again = solver.solve(instance);
        EXPECT_EQ(std::vector<double>(again.begin(), again.end()), solve(instance));
    }
}

}  // namespace
}  // namespace orrery::sim
