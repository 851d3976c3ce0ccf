// A design: which node on which fabric. Presets are rows of the tables in superpod.cpp, rail_optimized.cpp,
// ethernet.cpp and tpu.cpp; one builder serves all.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "hardware/datasheets.hpp"
#include "topology/catalog.hpp"
#include "topology/dgx.hpp"
#include "topology/fat_tree.hpp"

namespace orrery::topology {

/// NICs of a node; several of one GPU count as one of their joint rate.
struct NodeNics {
    std::uint32_t count;
    double bytes_per_second;  ///< of each
};

struct Design {
    Preset preset;
    std::string_view node;        ///< row of dgx.cpp; "": chips by themselves
    std::string_view gpu;         ///< "": the node's own
    std::uint32_t nics;           ///< 0: the node's own
    double nic_bytes_per_second;  ///< 0: the node's own
    std::uint32_t planes;  ///< leaves that share a node's NICs; 0: one for every NIC (rail); 1: all on the same leaf
    Switch fabric_switch;
    Adapter adapter;
    std::uint32_t leaves_per_group = 0;  ///< FatTreeSpec's
    bool reference = false;              ///< a reference architecture: only size and GPU memory variant can change
    bool any_node = false;               ///< the GPU chooses the kind of node
    std::optional<NodeNics> (*nics_of)(Socket) = nullptr;  ///< of its kind of node, before those above
    std::string_view fabric = {};                          ///< of fabric_kinds(); "": leaves, spines and cores
    std::string_view shape = {};                           ///< that fabric's at the default size
    std::uint32_t dimensions = 0;                          ///< that fabric's at other sizes
    std::uint32_t chips_per_host = 0;                      ///< of chips by themselves
    double host_bytes_per_second = 0;                      ///< of a chip's way to its host, one direction
};

std::span<const Design> superpod_designs();
std::span<const Design> rail_optimized_designs();
std::span<const Design> ethernet_designs();
std::span<const Design> tpu_designs();

/// The cluster that a design with the spec's overrides describes; throws Error with pointers under "/cluster".
Cluster build(const Design& design, const ClusterSpec& spec);

/// What the nodes bring to the fabric.
struct NodeSide {
    std::uint32_t nics;
    double nic_bytes_per_second;
    std::uint32_t more_nodes;  ///< beside the preset's own
};
/// The fabric that joins them; it knows how many nodes there are. Throws Error.
std::shared_ptr<const Fabric> choose_fabric(const Design& design, const ClusterSpec& spec, const NodeSide& side);

/// The design's leaf/spine fabric for so many nodes and NICs; switch_ports 0: the design's.
FatTreeSpec fabric_of(const Design& design, std::uint32_t nodes, std::uint32_t nics, double oversubscription,
                      std::uint32_t switch_ports = 0);

}  // namespace orrery::topology
