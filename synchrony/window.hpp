// A window of steps of data-parallel workers that keep step by BSP, SSP or ASP, or average parameters once in a while:
// event by event.
//
// A worker pulls parameters from all servers, computes, and pushes its gradients to all servers; its update counts when
// the last byte has come. It may begin step c when c - (least steps of any worker) <= staleness: 0 is BSP, no bound is
// ASP (Ho et al., NIPS 2013, section 3; Li et al., OSDI 2014). Nothing of an exchange is hidden behind computation;
// links are shared max-min fairly; latency, and what servers take to apply an update, are left out. With an all-reduce,
// which all must come to, windows are rounds: the slowest worker's steps, then the reduction or average.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "synchrony/options.hpp"

namespace orrery::synchrony {

/// So much of every byte of a transfer crosses a link.
struct Use {
    std::uint32_t link = 0;
    double share = 0;
    bool operator==(const Use&) const = default;
};

/// Links of workers that stand alike; either empty: nothing is moved.
struct Ways {
    std::vector<Use> push = {}, pull = {};
    bool operator==(const Ways&) const = default;
};

/// A part of the worker takes `factor` times as long in the window.
struct Slow {
    double from = 0, to = std::numeric_limits<double>::infinity();
    double factor = 1;
};

struct Worker {
    double compute_s = 0;  ///< of one step, as planned
    /// Of each of its parts that is slow at some time: factors of those windows that hold multiply. The slowest part
    /// counts, at the time when a step begins.
    std::vector<std::vector<Slow>> parts = {};
    std::uint32_t ways = 0;  ///< index into Job::ways
};

struct Job {
    Options options = {};
    std::vector<Worker> workers = {};  ///< at least one
    std::vector<double> links = {};    ///< bytes per second
    std::vector<Ways> ways = {};
    double push_bytes = 0, pull_bytes = 0;  ///< of one worker's step
    /// Seconds of an all-reduce behind a step, beyond the slowest worker's computing; or of an average of parameters.
    double reduce_s = 0;
    double tokens = 0;        ///< of one worker's step
    double server_bytes = 0;  ///< that one server holds: parameters, gradients, optimizer states
    double extra_bytes = 0;   ///< that one GPU holds more: DiLoCo's anchor and momentum
};

/// Where a worker's time goes; the seconds add up to the window's.
struct WorkerTime {
    std::uint64_t steps = 0;
    double computing = 0, exchanging = 0, waiting = 0;
};

struct Outcome {
    Job job = {};
    double seconds = 0;         ///< until as many updates have come as steps x workers
    std::uint64_t updates = 0;  ///< by all workers
    std::vector<WorkerTime> workers = {};
    /// Steps that were begun when the slowest worker was so many steps behind; with averages, so many steps after the
    /// last one.
    std::vector<std::uint64_t> staleness = {};
    double missed = 0;     ///< of others' updates, how many came between a worker's pull and its push, in the mean
    double link_busy = 0;  ///< share of its capacity that the fullest link carried

    [[nodiscard]] double tokens_per_s() const { return static_cast<double>(updates) * job.tokens / seconds; }
    [[nodiscard]] double mean_staleness() const;
    [[nodiscard]] std::uint32_t most_stale() const;
};

/// The same seed gives the same factor to the same step of the same worker under every mode.
Outcome simulate(const Job& job, std::uint64_t seed);

/// Seconds of a worker's step that begins at `now`, computation alone.
double step_seconds(const Job& job, std::uint32_t worker, std::uint64_t step, double now, std::uint64_t seed);

}  // namespace orrery::synchrony
