// A fabric from a list of cables, one a line, as inventories and other simulators export them:
//
//   # from, to, rate, latency           the latency may be left out: 150 ns
//   node0, leaf0, 200 Gb/s, 155 ns      node N (or nodeN.K: its NIC K) is a node; every other name is a switch
//   node1, leaf0, 200 Gb/s
//   leaf0, spine0, 800 Gb/s, 280 ns     cables carry both directions; repeated lines add up
//
// Routes have the fewest links, then the least seconds a byte; among equal ones the switch named first in the file.
#pragma once

#include <memory>
#include <string>

#include "topology/fabric.hpp"

namespace orrery::topology {

/// parts: nodes (0: as many as the file names) and nics_per_node must agree with the file, and rates are the file's.
/// Throws Error with file, line, what is wrong and how to mend it: a name or rate that cannot be read, a NIC with two
/// cables or with none, a node that the others cannot reach.
std::shared_ptr<const Fabric> read_cable_list(const std::string& file, FabricParts parts);
/// The same from text; `file` is for messages.
std::shared_ptr<const Fabric> parse_cable_list(const std::string& text, const std::string& file, FabricParts parts);

}  // namespace orrery::topology
