// A cluster as planners look at it: text, JSON and a drawing.
#pragma once

#include <string>

#include "report/records.hpp"
#include "report/style.hpp"
#include "topology/cluster.hpp"
#include "topology/survey.hpp"

namespace orrery::report {

/// Switches, cables, bisection, oversubscription, distances and checks.
std::string topology_text(const topology::Cluster& cluster, const topology::Survey& survey, Style style);

/// The same as one JSON object and a newline; rates in bytes per second, latencies in seconds.
std::string topology_json(const topology::Cluster& cluster, const topology::Survey& survey);

/// Switches and cables, a row each layer and kind.
Records topology_records(const topology::Survey& survey);

/// A drawing of its own size that shows how the cluster is built: a unit of nodes opened, the units like it as one box
/// with their number, the groups of switches above them, cables and rates of each layer; of a fabric without layers a
/// router and its kinds of neighbours. The same cluster gives the same bytes.
std::string topology_svg(const topology::Cluster& cluster);

}  // namespace orrery::report
