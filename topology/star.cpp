#include "topology/star.hpp"

#include "topology/fat_tree_fabric.hpp"

namespace orrery::topology {

std::shared_ptr<const Fabric> make_star(const FabricSpec&, FabricParts parts) {
    if (parts.nodes == 0) parts.nodes = 8;
    FatTree tree;
    tree.nodes = tree.nodes_per_leaf = parts.nodes;
    tree.nics_per_node = parts.nics_per_node;
    tree.tiers = parts.nodes == 1 ? 0 : 1;
    tree.rows = tree.groups = tree.leaves_per_group = 1;
    return std::make_shared<FatTreeFabric>(tree, parts);
}

}  // namespace orrery::topology
