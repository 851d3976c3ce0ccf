#include "sim/max_min.hpp"

#include <algorithm>

namespace orrery::sim {

namespace {

constexpr double growing_rate = -1.0;

/// A sum of weights from which flows are taken away loses digits; below this share of the sum it is taken afresh.
constexpr double fresh_share = 1e-3;

}  // namespace

void MaxMinProblem::clear() {
    capacity.clear();
    limit.clear();
    first_use.assign(1, 0);
    uses.clear();
}

void MaxMinProblem::close_flow(double rate_limit) {
    limit.push_back(rate_limit);
    first_use.push_back(static_cast<std::uint32_t>(uses.size()));
}

void MaxMinSolver::index_links(const MaxMinProblem& problem) {
    const std::size_t links = problem.capacity.size(), flows = problem.limit.size(), uses = problem.uses.size();
    first_.assign(links + 1, 0);
    for (const LinkUse& use : problem.uses) ++first_[use.link + 1];
    for (std::size_t l = 0; l < links; ++l) first_[l + 1] += first_[l];
    crossing_.resize(uses);
    flow_of_.resize(uses);
    for (std::uint32_t f = 0; f < flows; ++f)
        for (std::uint32_t u = problem.first_use[f]; u < problem.first_use[f + 1]; ++u) {
            flow_of_[u] = f;
            crossing_[first_[problem.uses[u].link]++] = u;
        }
    for (std::size_t l = links; l > 0; --l) first_[l] = first_[l - 1];
    first_[0] = 0;
}

void MaxMinSolver::sum_afresh(const MaxMinProblem& problem, std::uint32_t link) {
    double sum = 0.0;
    for (std::uint32_t i = first_[link]; i < first_[link + 1]; ++i)
        if (rate_[flow_of_[crossing_[i]]] == growing_rate) sum += problem.uses[crossing_[i]].weight;
    state_[link].growing = state_[link].summed = sum;
}

void MaxMinSolver::fix(const MaxMinProblem& problem, std::uint32_t flow, double rate) {
    rate_[flow] = rate;
    --still_growing_;
    for (std::uint32_t u = problem.first_use[flow]; u < problem.first_use[flow + 1]; ++u) {
        const auto [link, weight] = problem.uses[u];
        LinkState& state = state_[link];
        state.free_capacity = std::max(0.0, state.free_capacity - weight * rate);
        state.growing -= weight;
        --state.open;
    }
    // Only now: a link named twice must have lost both weights first.
    for (std::uint32_t u = problem.first_use[flow]; u < problem.first_use[flow + 1]; ++u) {
        const std::uint32_t link = problem.uses[u].link;
        const LinkState& state = state_[link];
        if (state.open > 0 && state.growing < fresh_share * state.summed) sum_afresh(problem, link);
    }
}

void MaxMinSolver::fill_link(const MaxMinProblem& problem, std::uint32_t link, double level) {
    for (std::uint32_t i = first_[link]; i < first_[link + 1]; ++i) {
        const std::uint32_t flow = flow_of_[crossing_[i]];
        if (rate_[flow] == growing_rate) fix(problem, flow, level);
    }
}

void MaxMinSolver::gather_bindings(const MaxMinProblem& problem) {
    const auto links = static_cast<std::uint32_t>(problem.capacity.size());
    heap_.clear();
    state_.resize(links);
    for (std::uint32_t l = 0; l < links; ++l) {
        state_[l] = {problem.capacity[l], 0.0, 0.0, first_[l + 1] - first_[l]};
        sum_afresh(problem, l);
        if (state_[l].open > 0) heap_.push_back({problem.capacity[l] / state_[l].growing, l});
    }
    for (std::uint32_t f = 0; f < problem.limit.size(); ++f) heap_.push_back({problem.limit[f], links + f});
    std::make_heap(heap_.begin(), heap_.end(), Later{});
}

std::span<const double> MaxMinSolver::solve(const MaxMinProblem& problem) {
    const auto links = static_cast<std::uint32_t>(problem.capacity.size());
    still_growing_ = static_cast<std::uint32_t>(problem.limit.size());
    rate_.assign(still_growing_, growing_rate);
    index_links(problem);
    gather_bindings(problem);
    double level = 0.0;
    while (still_growing_ > 0) {
        std::pop_heap(heap_.begin(), heap_.end(), Later{});
        const Binding next = heap_.back();
        heap_.pop_back();
        if (next.what >= links) {
            const std::uint32_t flow = next.what - links;
            if (rate_[flow] == growing_rate) fix(problem, flow, level = next.level);
        } else if (const LinkState& state = state_[next.what]; state.open > 0) {
            // Flows that were fixed since, at lower levels, left more room: the link may bind later than it said.
            const double binds = std::max(level, state.free_capacity / state.growing);
            if (binds > next.level) {
                heap_.push_back({binds, next.what});
                std::push_heap(heap_.begin(), heap_.end(), Later{});
            } else {
                fill_link(problem, next.what, level = next.level);
            }
        }
    }
    return rate_;
}

}  // namespace orrery::sim
