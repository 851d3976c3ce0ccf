// Leaf/spine(/core) fabric in numbers: how many switches a cluster needs and how they are cabled. The
// fabric made of it is in fat_tree_fabric.hpp.
//
//   core     K0 ..      KG ..           a spine of every group to every core of one core group
//             |  \    /  |
//   spine    S0 S1 S2 | S0 S1 S2        every leaf of a group to every spine of it, with `leaf_cables` cables
//            | \/ \/ \| ...
//   leaf     L0 L1 ...                  one leaf a plane (rail) for every `nodes_per_leaf` nodes
//            |  |
//   nodes    NIC 0, NIC 1, ...          NIC n of every node on plane n % planes
//
// One tier: everything on one switch. Two tiers: all leaves are one group, so planes meet in the spines. Three tiers:
// a group holds leaves of one plane only; planes and groups meet in the core. The rules below give the published
// counts of the DGX SuperPOD reference architectures (tests/topology/superpod_test.cpp).
#pragma once

#include <cstdint>

namespace orrery::topology {

struct FatTreeSpec {
    std::uint32_t nodes = 1, nics_per_node = 1;
    std::uint32_t planes = 1;            ///< divides nics_per_node; 1: all NICs of a node on the same leaf
    std::uint32_t ports = 64;            ///< of every switch
    double oversubscription = 1;         ///< leaf down : up
    std::uint32_t leaves_per_group = 0;  ///< most leaves in a three-tier group; 0: as many as the ports allow
    bool one_switch = true;              ///< use one switch where all NICs fit on it
};

struct FatTree {
    std::uint32_t nodes = 0, nics_per_node = 0, planes = 1, tiers = 0;  ///< tiers 0: no network (one node)
    std::uint32_t nodes_per_leaf = 0, rows = 0;  ///< a row: the leaves of all planes for the same nodes
    std::uint32_t leaf_up = 0;                   ///< uplink cables of a leaf
    std::uint32_t groups = 0, leaves_per_group = 0, spines_per_group = 0, leaf_cables = 0;
    std::uint32_t spine_up = 0, core_groups = 0, cores_per_group = 0, spine_cables = 0;

    [[nodiscard]] std::uint32_t nics_per_leaf_and_node() const { return nics_per_node / planes; }
    [[nodiscard]] std::uint32_t leaves() const { return planes * rows; }
    [[nodiscard]] std::uint32_t spines() const { return groups * spines_per_group; }
    [[nodiscard]] std::uint32_t cores() const { return core_groups * cores_per_group; }
    /// Core switch at the end of a spine's k-th uplink.
    [[nodiscard]] std::uint32_t core_of(std::uint32_t spine, std::uint32_t k) const;

    [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node, std::uint32_t nic) const;
    /// Position of a NIC among those of its leaf.
    [[nodiscard]] std::uint32_t slot_of(std::uint32_t node, std::uint32_t nic) const;
    [[nodiscard]] std::uint32_t group_of(std::uint32_t leaf) const;
    [[nodiscard]] std::uint32_t index_in_group(std::uint32_t leaf) const;
};

/// Throws Error (pointer "/cluster/nodes", "/cluster/nics_per_node" or "/cluster/oversubscription") when switches with
/// that many ports cannot carry it; the hint names the nearest legal value.
FatTree plan_fat_tree(const FatTreeSpec& spec);

/// The most nodes that the spec's switches can join.
std::uint32_t max_nodes(FatTreeSpec spec);

}  // namespace orrery::topology
