// The partition of columns, flows and links of the steps that run at once into classes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/flows.hpp"

namespace orrery::sim {

/// Class of every column, message and group of each job, of every background flow and of every link.
struct FlowClasses {
    struct Job {
        std::vector<std::uint32_t> column, message, group;
    };
    std::vector<Job> jobs;
    std::vector<std::uint32_t> background, link;
};

/// The coarsest partition that is equitable: columns of one role on one kind of GPU, flows of one channel or set,
/// background flows of one rate and window, links of one kind, rate and tier. Jobs are never alike. traffic: of each
/// job.
FlowClasses equitable_classes(const SharedFlows& flows, const std::vector<Traffic>& traffic,
                              const topology::Cluster& cluster, const Network& network, const Marks& marks);

/// Everything for itself.
FlowClasses single_classes(const SharedFlows& flows);

}  // namespace orrery::sim
