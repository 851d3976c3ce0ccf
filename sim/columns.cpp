#include "sim/columns.hpp"

namespace orrery::sim {

Columns single_ranks(const strategies::Mesh& mesh) { return {1, mesh.ranks()}; }

Columns tensor_columns(const strategies::Mesh& mesh, const topology::Cluster& cluster) {
    const std::uint32_t tensor = mesh.along(strategies::Axis::tensor);
    const bool tiles = cluster.gpus_per_node() % tensor == 0;
    if (!tiles || !cluster.rails_alike()) return single_ranks(mesh);
    return {tensor, mesh.ranks() / tensor};
}

}  // namespace orrery::sim
