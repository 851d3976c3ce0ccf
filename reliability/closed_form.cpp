#include <algorithm>
#include <cmath>

#include "reliability/goodput.hpp"
#include "reliability/shrinking.hpp"

namespace orrery::reliability {

namespace {

/// Erlang's B: share of the time in which all `servers` are busy at `load`, by its recursion.
double all_busy(std::uint32_t servers, double load) {
    double blocked = 1;
    for (std::uint32_t n = 1; n <= servers; ++n) blocked = load * blocked / (n + load * blocked);
    return blocked;
}

/// Seconds until a job that fails at `rate` has run for `span` without a failure in between, when each failure costs
/// `down` before the next try.
double until_whole(double span, double rate, double down) { return std::expm1(rate * span) * (1 / rate + down); }

/// Of a run in equal cycles, each of which ends with a checkpoint that can be used `late` after it.
struct Cycles {
    double count, cycle, late;
};

Cycles cycles_of(const TrainingRun& run) {
    const double count = std::isfinite(run.interval) ? std::max(1.0, run.work / run.interval) : 1;
    return {count, run.work * run.paced_step / run.step / count + run.stall, run.write - run.stall};
}

/// Each failure sends the job back to its latest checkpoint.
double one_kind(const TrainingRun& run, const Cycles& of) {
    const double rate = run.failures_per_s;
    const double down = until_whole(run.detection + run.restart + run.read, rate, 0);  // a failure may meet the restart
    // First checkpoint after a restart: a cycle and what it is late by. Each further one: a cycle, or all that again.
    const double again = until_whole(of.cycle + of.late, rate, down);
    const double fails = -std::expm1(-rate * of.cycle);
    return again + (of.count - 1) * (fails / rate + fails * (down + again));
}

/// Broken nodes send the job back to the latest checkpoint on the shared file system, other failures to that of its
/// tier. Of the time that the others alone would take to some point, only E(exp(-broken time)) is needed: it is the
/// chance that no node breaks until then. Chances are kept as what they lack of one, or as logarithms: nodes may break
/// once in a thousand years.
class TwoKinds {
public:
    TwoKinds(const TrainingRun& run, const Cycles& of)
        : rate_(run.failures_per_s), broken_(rate_ * run.broken_share), other_(rate_ - broken_), of_(of) {
        const double span = run.detection + run.restart + run.read;
        const double down = lost(span, 0), first = lost(of.cycle + of.late, down);
        first_ = std::log1p(-first);
        next_ = std::log1p(-fails(of.cycle) * (broken_ + other_ * (down + first - down * first)) / rate_);
        if (other_ == 0) {
            mean_cycle_ = of.cycle;
            return;
        }
        const double mean_down = until_whole(span, other_, 0);
        const double mean_first = until_whole(of.cycle + of.late, other_, mean_down);
        mean_cycle_ = -std::expm1(-other_ * of.cycle) * (1 / other_ + mean_down + mean_first);
    }

    [[nodiscard]] double seconds(const TrainingRun& run) const {
        const double down = until_whole(run.detection + run.restart + run.shared_read, rate_, 0);
        const auto restarted = [&](double cycles, double then) {  // from a restart: so many cycles, and then
            return std::expm1(broken_ * then - first_ - (cycles - 1) * next_) * (1 / broken_ + down);
        };
        const auto further = [&](double chance, double again) {  // chance: its logarithm
            return -std::expm1(chance) * (1 / broken_ + down + again);
        };
        const double every = run.shared_every, until_stored = std::max(0.0, run.shared_write - run.write);
        // Those that are stored before the end; what is left behind the last of them takes longer than that.
        const double groups = std::ceil((of_.count - until_stored / mean_cycle_) / every - 1e-9) - 1;
        if (groups < 1) return restarted(of_.count, 0);
        const double again = restarted(every, until_stored), last = of_.count - groups * every;
        const double ends = std::min(0.0, last * next_ + broken_ * until_stored);
        return again + (groups - 1) * further(every * next_, again) + further(ends, restarted(last, 0));
    }

private:
    /// A failure within this time.
    [[nodiscard]] double fails(double span) const { return -std::expm1(-rate_ * span); }
    /// A node breaks before `span` has passed without another failure; down: the same of what follows each of these.
    [[nodiscard]] double lost(double span, double down) const {
        const double others = other_ / rate_ * fails(span);
        return fails(span) * (broken_ + other_ * down) / rate_ / (1 - others * (1 - down));
    }

    double rate_, broken_, other_;
    Cycles of_;
    double first_, next_;  ///< logarithms of the chances of a cycle after a restart, and of one after another
    double mean_cycle_;    ///< seconds, with other failures alone
};

}  // namespace

double expected_seconds(const TrainingRun& run) {
    const Cycles of = cycles_of(run);
    if (run.failures_per_s == 0) return of.count * of.cycle + of.late;
    const double broken = run.failures_per_s * run.broken_share;
    const double seconds = run.goes_back() ? TwoKinds(run, of).seconds(run) : one_kind(run, of);
    if (run.spare_nodes == Failures::as_needed || broken == 0) return seconds;
    if (run.without_spare == WithoutSpare::shrink) return shrunk_seconds(run, seconds, broken);
    return seconds / (1 - all_busy(run.spare_nodes + 1, broken * run.repair));
}

}  // namespace orrery::reliability
