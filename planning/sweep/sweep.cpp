#include "planning/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "planning/parallel.hpp"
#include "sim/session.hpp"

namespace orrery::planning {

namespace {

/// "/strategy/tensor: 3 does not divide the 32 heads (nearest legal values: 2, 4)".
std::string reason(const Error& error) {
    std::string text = error.pointer().empty() ? "" : error.pointer() + ": ";
    text += error.message();
    return error.hint().empty() ? text : fmt::format("{} ({})", text, error.hint());
}

Answer answer(const Grid& grid, std::uint64_t point, calibrate::ProfileStore& profiles, sim::Session& session) {
    try {
        return {evaluate(grid.scenario(point), profiles, grid.over_gpus(), &session), {}};
    } catch (const Error& error) {
        return {{}, reason(error)};
    }
}

}  // namespace

Sweep sweep(const Grid& grid, calibrate::ProfileStore& profiles, Journal& journal, unsigned threads,
            const std::function<void()>& done) {
    Sweep result;
    sim::Session session;
    result.answers.resize(grid.points());
    for_each(grid.points(), threads, [&](std::size_t point) {
        const auto found = journal.found().find(point);
        if (found != journal.found().end()) {
            result.answers[point] = found->second;
        } else {
            result.answers[point] = answer(grid, point, profiles, session);
            journal.append(point, result.answers[point]);
        }
        done();
    });
    for (std::uint64_t point = 0; point < result.answers.size(); ++point)
        if (result.answers[point].problem.empty()) result.best.push_back(point);
    if (result.best.empty()) {
        journal.remove();
        (void)evaluate(grid.scenario(0), profiles);  // says why, with file and remedy
    }
    std::ranges::stable_sort(result.best, [&](std::uint64_t a, std::uint64_t b) {
        const Outcome &one = result.answers[a].outcome, &other = result.answers[b].outcome;
        if (one.fits != other.fits) return one.fits;
        return one.tokens_per_s > other.tokens_per_s;
    });
    return result;
}

}  // namespace orrery::planning
