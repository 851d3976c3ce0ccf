// The structure of a cluster for the page: what is alike is counted and drawn once.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "topology/cluster.hpp"

namespace orrery::report {

/// Object for web/src/parts/structure.js. A unit is the nodes that are cabled to the same switches; a group, switches
/// of a layer above that are cabled to the same ones below.
///   node: {gpus, gpu, nics, parts: [{name, count}], gpu_bytes_per_second, nic_bytes_per_second}
///   units: [{count, nodes, switches}]: the first stands for one unit, which `opened` shows; the others for all that
///          are alike
///   opened: {nodes, switches: [{rails: [NIC numbers], up: [[group, cables]], beside: [{neighbours, cables,
///          metres, bytes_per_second}]}], left_out: switches that are not listed}
///   layer, switches: name and number of the switches of all units, and of those without nodes
///   rows: [{layer, groups: [{count, switches, rails, below: [[unit or group, cables]]}], beside: cables}]: layers
///          above the first, from the nodes outwards; a count above 1 is of groups that are not shown singly.
///          Cables are counted once for both directions.
///   chips: routers sit on the chips
/// Null for a cluster of one node, which has no network. Takes time in proportion to the links.
nlohmann::ordered_json cluster_structure(const topology::Cluster& cluster);

}  // namespace orrery::report
