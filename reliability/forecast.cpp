#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/units.hpp"
#include "reliability/goodput.hpp"

namespace orrery::reliability {

namespace {

constexpr double most_events = 4e6, most_runs = 1000, least_runs = 100;

/// Of a run with more failures than this, a part with so many stands for the whole.
constexpr double most_failures = most_events / least_runs;

/// Beyond this the answer is "never", which nobody needs simulated: so many times what a run takes that never fails.
void require_end(const TrainingRun& run, double expected) {
    constexpr double hopeless = 1000;
    TrainingRun sound = run;
    sound.failures_per_s = 0;
    if (expected < hopeless * expected_seconds(sound)) return;
    const double cycle = std::min(run.interval, run.work);
    const std::string shared = run.goes_back()
                                   ? fmt::format(", {} to the next on the shared file system",
                                                 format_seconds(std::min(run.work, cycle * run.shared_every)))
                                   : "";
    TrainingRun replaced = run;
    replaced.spare_nodes = Failures::as_needed;
    if (expected_seconds(replaced) < hopeless * expected_seconds(sound) / 2)
        throw NeverEnds(
            "", "/reliability",
            fmt::format("the training would practically never end: a node breaks every {}, its repair takes "
                        "{}, and there are {} spare ones",
                        format_seconds(run.mtbf() / run.broken_share), format_seconds(run.repair), run.spare_nodes),
            "more reliability.spare_nodes, or a shorter repair");
    throw NeverEnds(
        "", "/reliability",
        fmt::format("the training would practically never end: the job fails every {}, and needs {} to find "
                    "the failure and start again and {} to the next checkpoint{}",
                    format_seconds(run.mtbf()), format_seconds(run.detection + run.restart + run.read),
                    format_seconds(cycle + run.write), shared),
        fmt::format("fewer failures, a shorter checkpoint.interval, {}faster storage, or fewer nodes",
                    run.goes_back() ? "a smaller checkpoint.shared_every, " : ""));
}

/// How many times longer the run is than what is simulated of it, `run`: whole checkpoints, of those that a job goes
/// back to, and so long that it hardly matters that all spare nodes are there when it begins.
double take_part(TrainingRun& run, double expected) {
    constexpr double repairs = 50;
    const bool counted = run.spare_nodes != Failures::as_needed && run.broken_share > 0;
    const double share =
        std::max(most_failures / (expected * run.failures_per_s), counted ? repairs * run.repair / expected : 0);
    if (share >= 1 || !std::isfinite(run.interval)) return 1;
    const double whole = run.work, group = run.interval * (run.goes_back() ? run.shared_every : 1);
    run.work = std::min(whole, std::ceil(whole * share / group) * group);
    return whole / run.work;
}

}  // namespace

void Times::add(const Times& other, double share) {
    for (double Times::*const part : {&Times::work, &Times::input, &Times::checkpoints, &Times::lost, &Times::detection,
                                      &Times::restart, &Times::waiting, &Times::shrunk})
        this->*part += share * other.*part;
}

Forecast forecast(const TrainingRun& run, std::uint64_t seed) {
    Forecast all;
    all.run = run;
    all.closed_form_s = expected_seconds(run);
    require_end(run, all.closed_form_s);
    const double failures = all.closed_form_s * run.failures_per_s;
    TrainingRun part = run;
    const double parts = failures > 0 ? take_part(part, all.closed_form_s) : 1;
    all.runs = static_cast<std::uint32_t>(std::clamp(most_events / (1 + failures), least_runs, most_runs));
    if (run.failures_per_s == 0) all.runs = 1;
    std::vector<double> seconds;
    for (std::uint32_t number = 0; number < all.runs; ++number) {
        const Outcome one = simulate(part, mixed(seed) + number);
        all.mean.add(one.times, parts / all.runs);
        all.failures += static_cast<double>(one.failures) * parts / all.runs;
        seconds.push_back(one.times.total());
    }
    std::ranges::sort(seconds);
    const double mean = all.seconds() / parts;
    const auto tenth = [&](double which) {  // parts are independent of each other
        return all.seconds() + std::sqrt(parts) * (quantile(seconds, which) - mean);
    };
    all.seconds_p10 = tenth(0.1);
    all.seconds_p90 = tenth(0.9);
    return all;
}

}  // namespace orrery::reliability
