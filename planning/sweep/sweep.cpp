#include "planning/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/parallel.hpp"
#include "sim/session.hpp"

namespace orrery::planning {

namespace {

/// "/strategy/tensor: 3 does not divide the 32 heads (nearest legal values: 2, 4)".
std::string reason(const Error& error) {
    std::string text = error.pointer().empty() ? "" : error.pointer() + ": ";
    text += error.message();
    return error.hint().empty() ? text : fmt::format("{} ({})", text, error.hint());
}

}  // namespace

Simulate simulate_points(const Grid& grid, calibrate::ProfileStore& profiles) {
    return [&grid, &profiles, session = std::make_shared<sim::Session>()](const Work& work) -> Answer {
        try {
            return {evaluate(grid.scenario(work.point), profiles, grid.over_gpus(), session.get()), {}};
        } catch (const Error& error) {
            return {{}, reason(error)};
        }
    };
}

std::vector<Answer> answers(const Grid& grid, const Shard& shard, calibrate::ProfileStore& profiles, Journal& journal,
                            const Crew& crew, const std::function<void()>& done) {
    std::vector<Answer> list(shard.points(grid.points()));
    std::vector<Simulate> hands = crew(simulate_points(grid, profiles));
    for_each_with(hands, list.size(), [&](const Simulate& simulate, std::size_t i) {
        const std::uint64_t point = shard.point(i);
        const auto found = journal.found().find(point);
        if (found != journal.found().end()) {
            list[i] = found->second;
        } else {
            list[i] = simulate({.point = point, .plan = {}});
            journal.append(point, list[i]);
        }
        done();
    });
    return list;
}

Sweep ranked(std::vector<Answer> answers) {
    Sweep result{.answers = std::move(answers), .best = {}};
    for (std::uint64_t point = 0; point < result.answers.size(); ++point)
        if (result.answers[point].problem.empty()) result.best.push_back(point);
    std::ranges::stable_sort(result.best, [&](std::uint64_t a, std::uint64_t b) {
        const Outcome &one = result.answers[a].outcome, &other = result.answers[b].outcome;
        if (one.fits != other.fits) return one.fits;
        return one.trained_tokens_per_s > other.trained_tokens_per_s;
    });
    return result;
}

Sweep sweep(const Grid& grid, calibrate::ProfileStore& profiles, Journal& journal, const Crew& crew,
            const std::function<void()>& done) {
    Sweep result = ranked(answers(grid, {}, profiles, journal, crew, done));
    if (result.best.empty()) {
        journal.remove();
        (void)evaluate(grid.scenario(0), profiles);  // says why, with file and remedy
    }
    return result;
}

}  // namespace orrery::planning
