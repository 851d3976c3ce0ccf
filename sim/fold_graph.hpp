// The partition of a step's columns, flows and links into classes.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/flows.hpp"

namespace orrery::sim {

/// Class of every column, message, group and link of a table of flows.
struct FlowClasses {
    std::vector<std::uint32_t> column, message, group, link;
};

/// The coarsest partition that is equitable: columns of one role on one kind of GPU, flows of one channel or set, links
/// of one kind, rate and tier.
FlowClasses equitable_classes(const Flows& flows, const Traffic& traffic, const topology::Cluster& cluster,
                              const Network& network, const Marks& marks);

/// Everything for itself.
FlowClasses single_classes(const Flows& flows);

}  // namespace orrery::sim
