#include "sim/columns.hpp"

namespace orrery::sim {

Columns single_ranks(const strategies::Mesh& mesh) { return {1, mesh.ranks()}; }

namespace {

/// Whether each tensor group lies in order on `tensor` GPUs next to each other that begin at a multiple of `tensor`.
bool keeps_columns(const strategies::Mesh& mesh, const strategies::RankPlacement& placement, std::uint32_t tensor) {
    if (placement.linear()) return true;
    for (std::uint32_t rank = 0; rank < mesh.ranks(); ++rank) {
        const std::uint32_t gpu = placement.gpu(rank), local = rank % tensor;
        if (gpu % tensor != local || gpu - local != placement.gpu(rank - local)) return false;
    }
    return true;
}

}  // namespace

Columns tensor_columns(const strategies::Mesh& mesh, const strategies::RankPlacement& placement,
                       const topology::Cluster& cluster) {
    const std::uint32_t tensor = mesh.along(strategies::Axis::tensor);
    const bool tiles = cluster.gpus_per_node() % tensor == 0;
    if (!tiles || !cluster.rails_alike() || !keeps_columns(mesh, placement, tensor)) return single_ranks(mesh);
    return {tensor, mesh.ranks() / tensor};
}

}  // namespace orrery::sim
