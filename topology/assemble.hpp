// Puts the nodes and the fabric together into one graph.
#pragma once

#include <memory>

#include "topology/cluster.hpp"
#include "topology/datasheets.hpp"
#include "topology/fat_tree.hpp"
#include "topology/node.hpp"

namespace orrery::topology {

struct FabricParts {
    double nic_bytes_per_second;  ///< every cable of the fabric runs at the NICs' rate
    Adapter adapter;
    Switch fabric_switch;
};

std::shared_ptr<const Graph> assemble(NodePlan node, const FatTree& fabric, const FabricParts& parts);

}  // namespace orrery::topology
