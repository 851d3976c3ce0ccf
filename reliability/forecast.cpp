#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/statistics.hpp"
#include "base/units.hpp"
#include "reliability/goodput.hpp"

namespace orrery::reliability {

namespace {

constexpr double most_events = 4e6, most_runs = 1000, least_runs = 100;

/// Beyond this the answer is "never", which nobody needs simulated: so many times what a run takes that never fails.
void require_end(const TrainingRun& run, double expected) {
    constexpr double hopeless = 1000;
    TrainingRun sound = run;
    sound.failures_per_s = 0;
    if (expected < hopeless * expected_seconds(sound)) return;
    throw Error("", "/reliability",
                fmt::format("the training would practically never end: the job fails every {}, and needs {} to find "
                            "the failure and start again and {} to the next checkpoint",
                            format_seconds(run.mtbf()), format_seconds(run.detection + run.restart + run.read),
                            format_seconds(std::min(run.interval, run.work) + run.write)),
                "fewer failures, a shorter checkpoint.interval, faster storage, or fewer nodes");
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
    const double events = 1 + all.closed_form_s * run.failures_per_s;
    all.runs = static_cast<std::uint32_t>(std::clamp(most_events / events, least_runs, most_runs));
    if (run.failures_per_s == 0) all.runs = 1;
    std::vector<double> seconds;
    for (std::uint32_t number = 0; number < all.runs; ++number) {
        const Outcome one = simulate(run, mixed(seed) + number);
        all.mean.add(one.times, 1.0 / all.runs);
        all.failures += static_cast<double>(one.failures) / all.runs;
        seconds.push_back(one.times.total());
    }
    std::ranges::sort(seconds);
    all.seconds_p10 = quantile(seconds, 0.1);
    all.seconds_p90 = quantile(seconds, 0.9);
    return all;
}

}  // namespace orrery::reliability
