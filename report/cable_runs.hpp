// Cables and words for the drawing of a cluster.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "topology/cluster.hpp"

namespace orrery::report {

/// Cables of one kind of place.
struct CableRun {
    std::uint64_t cables = 0, failed = 0;
    double least = 0, most = 0;  ///< bytes per second of one, in one direction
    /// "640 cables, 200 Gb/s".
    [[nodiscard]] std::string text() const;
};
struct CableRuns {
    std::vector<CableRun> between;  ///< a layer of switches and the one below it, from the nodes outwards
    CableRun beside, to_nodes;
    /// Where failures are: ", 20 of 640 cables above the leaves"; "" where none are.
    [[nodiscard]] std::string failed_text() const;
};
/// Of a cluster with a fabric. Takes time in proportion to the links.
CableRuns cable_runs(const topology::Cluster& cluster);

/// Object: gpus and nics of the first node, and lines of words about it: what joins its GPUs, and its other parts.
nlohmann::ordered_json node_parts(const topology::Cluster& cluster);

/// "400 Gb/s".
std::string rate_text(double bytes_per_second);

}  // namespace orrery::report
