// What a simulation says of a step: the content of every report of one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/step.hpp"

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

/// Time that no measurement of such a kernel stands behind.
struct Derived {
    std::string what;  ///< "attention backward from forward"
    double share = 0;  ///< of the step's time
};

/// How a job grows.
struct Scale {
    double scale_factor = 0;  ///< T_n / (n T_1) against one model replica's smallest placement, see report/README.md
    std::uint32_t scale_base_gpus = 0;  ///< GPUs of that reference; 0: not asked
};

/// What a step has in common with others.
struct Sharing {
    std::vector<JobStep> jobs;             ///< the scenario's own first; empty where it is alone
    std::vector<SharedLink> shared_links;  ///< the busiest first; a few
};

/// What only a simulation knows: how the step would go otherwise, and how far to believe it.
struct Outlook : Scale, Sharing {
    double planned_step_time_s = 0;  ///< without perturbations and other jobs; 0 where there are none
    std::string bottleneck;          ///< "pipeline bubble 17%"
    std::vector<Derived> derived;    ///< mean over the stages, the largest first
    std::vector<std::string> advice, warnings;
};

struct Prediction : Step, Outlook {};

}  // namespace orrery::sim
