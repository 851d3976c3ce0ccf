// What a simulation says of a step: the content of every report of one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/step.hpp"

namespace orrery::reliability {
struct Forecast;
}
namespace orrery::synchrony {
struct Outcome;
}

namespace orrery::sim {

/// One of several jobs on the cluster, and its first step.
struct JobStep {
    std::string name;
    std::uint32_t gpus = 0;
    double starts_at_s = 0;
    double alone_s = 0, shared_s = 0;  ///< seconds of the step, as planned and by itself, and as it went
};

/// Links that carry the step's bytes and those of others.
struct SharedLink {
    std::string name;                       ///< of one of them: "leaf 0 to spine 1"
    std::uint32_t links = 1;                ///< that are alike
    double bytes_per_second = 0;            ///< capacity of one
    double own_bytes = 0, other_bytes = 0;  ///< over one, during the step
    double busy = 0;                        ///< share of its capacity that was used during the step
};

/// Links of one kind that the step's bytes can fill.
struct LinkLevel {
    std::string from, to;         ///< "nic", "leaf", ...
    std::uint32_t links = 0;      ///< that there are of it, and that the step could use
    double bytes_per_second = 0;  ///< capacity of one
    double bytes = 0;             ///< over all of them, during the step
    double most_bytes = 0;        ///< over the fullest
    double busiest = 0;           ///< share of its capacity that the fullest carried over the step
};

/// Time that no measurement of such a kernel stands behind.
struct Derived {
    std::string what;  ///< "attention backward from forward"
    double share = 0;  ///< of the step's time
};

/// How a job grows.
struct Scale {
    double scale_factor = 0;            ///< T_n / (n T_1) against model replicas alone, see report/README.md
    std::uint32_t scale_base_gpus = 0;  ///< GPUs of that reference; 0: not asked
};

/// What a step has in common with others.
struct Sharing {
    std::vector<JobStep> jobs;             ///< the scenario's own first; empty where it is alone
    std::vector<SharedLink> shared_links;  ///< the busiest first; a few
};

/// Seconds that a quantity lies between; two whose intervals overlap may be called a tie.
struct Interval {
    double low = 0, high = 0;

    [[nodiscard]] bool overlaps(const Interval& other) const { return low <= other.high && other.low <= high; }
};

/// The stage of a training before the one whose step is predicted: its steps exchange gradients as ever.
struct WarmUp {
    double step_time_s = 0;
    double steps = 0;        ///< of this stage
    double bytes = 0;        ///< that a GPU sends in a step to exchange gradients and weights, in the mean
    double later_bytes = 0;  ///< the same of the stage that follows, the scenario's step
    double later_step_time_s = 0;
    double share = 0;  ///< of the training's steps; 0: no token budget says how many there are

    [[nodiscard]] double mean_step_time_s() const { return share * step_time_s + (1 - share) * later_step_time_s; }
    /// Bytes over the whole training, were all of it like the warm-up, over those that it exchanges.
    [[nodiscard]] double volume_ratio() const { return bytes / (share * bytes + (1 - share) * later_bytes); }
};

/// What only a simulation knows: how the step would go otherwise, and how far to believe it.
struct Outlook : Scale, Sharing {
    double planned_step_time_s = 0;  ///< without perturbations and other jobs; 0 where there are none
    Interval step_interval;          ///< of four of five measured steps (interval.hpp)
    std::string bottleneck;          ///< "pipeline bubble 17%"
    std::vector<LinkLevel> links;    ///< that can bind, where a trace is kept
    std::vector<Derived> derived;    ///< mean over the stages, the largest first
    std::vector<std::string> advice, warnings;
    /// With failures, checkpoints and storage, where the scenario asks; else null.
    std::shared_ptr<const reliability::Forecast> whole_run = nullptr;
    std::optional<WarmUp> warm_up = {};  ///< of a plan that compresses what data ranks exchange
    /// Replicas that keep step as the scenario says, over a window of steps; else null.
    std::shared_ptr<const synchrony::Outcome> synchrony = nullptr;
};

struct Prediction : Step, Outlook {};

}  // namespace orrery::sim
