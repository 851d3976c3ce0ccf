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
    const bool deeper = !run.outlives_node && run.broken_share > 0;
    const std::string shared = deeper ? fmt::format(", {} to the next on the shared file system",
                                                    format_seconds(std::min(run.work, cycle * run.shared_every)))
                                      : "";
    throw NeverEnds(
        "", "/reliability",
        fmt::format("the training would practically never end: the job fails every {}, and needs {} to find "
                    "the failure and start again and {} to the next checkpoint{}",
                    format_seconds(run.mtbf()), format_seconds(run.detection + run.restart + run.read),
                    format_seconds(cycle + run.write), shared),
        fmt::format("fewer failures, a shorter checkpoint.interval, {}faster storage, or fewer nodes",
                    deeper ? "a smaller checkpoint.shared_every, " : ""));
}

/// How many times longer the run is than what is simulated of it, `run`: whole checkpoints on the shared file system.
double take_part(TrainingRun& run, double failures) {
    if (failures <= most_failures || !std::isfinite(run.interval)) return 1;
    const double whole = run.work, group = run.interval * run.shared_every;
    run.work = std::min(whole, std::ceil(whole * most_failures / failures / group) * group);
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
    const double parts = take_part(part, failures);
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
