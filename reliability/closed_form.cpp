#include <algorithm>
#include <cmath>

#include "reliability/goodput.hpp"

namespace orrery::reliability {

namespace {

/// Erlang's B: share of the time in which all `servers` are busy at `load`, by its recursion.
double all_busy(std::uint32_t servers, double load) {
    double blocked = 1;
    for (std::uint32_t n = 1; n <= servers; ++n) blocked = load * blocked / (n + load * blocked);
    return blocked;
}

/// Mean share of the replicas that are missing: as many nodes are in repair as a Poisson variable of mean `load` says.
double missing_share(const TrainingRun& run, double load) {
    double probability = std::exp(-load), missing = 0;
    const double most = load + 12 * std::sqrt(load) + 12;
    for (double n = 1; n < most; ++n) {
        probability *= load / n;
        const double short_of = std::max(0.0, n - run.spare_nodes) * run.per_node;
        missing += probability * std::min(short_of, run.replicas - 1.0);
    }
    return missing / run.replicas;
}

/// Seconds until a job that fails at `rate` has run for `span` without a failure in between, when each failure costs
/// `down` before the next try.
double until_whole(double span, double rate, double down) { return std::expm1(rate * span) * (1 / rate + down); }

}  // namespace

double expected_seconds(const TrainingRun& run) {
    const double paced = run.work * run.paced_step / run.step;
    const double cycles = std::isfinite(run.interval) ? std::max(1.0, run.work / run.interval) : 1;
    const double cycle = paced / cycles + run.stall, late = run.write - run.stall;
    const double rate = run.failures_per_s;
    if (rate == 0) return cycles * cycle + late;

    const double broken = rate * run.broken_share;
    const bool deeper = !run.outlives_node && broken > 0;
    const double down_once =
        run.detection + run.restart +
        (deeper ? (1 - run.broken_share) * run.read + run.broken_share * run.shared_read : run.read);
    const double down = until_whole(down_once, rate, 0);  // a failure may meet the restart
    // First checkpoint after a restart: a cycle and what it is late by. Each further one: a cycle, or all that again.
    const double again = until_whole(cycle + late, rate, down);
    const double fails = -std::expm1(-rate * cycle);
    const double next = fails / rate + fails * (down + again);
    double seconds = again + (cycles - 1) * next;
    if (deeper) {
        const double back = (run.shared_every - 1) / 2.0 * cycle + run.shared_write - run.write;
        seconds /= std::max(1e-9, 1 - broken * back);
    }
    if (run.spare_nodes == Failures::as_needed || broken == 0) return seconds;
    const double load = broken * run.repair;
    if (run.without_spare == WithoutSpare::shrink) return seconds / (1 - missing_share(run, load));
    return seconds / (1 - all_busy(run.spare_nodes + 1, load));
}

}  // namespace orrery::reliability
