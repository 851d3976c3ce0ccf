// Ranks that the symmetry of tensor parallelism makes alike by construction, taken together before anything is folded.
#pragma once

#include <cstdint>

#include "strategies/mesh.hpp"
#include "strategies/rank_placement.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// A column is `width` ranks next to each other: rank / width. Its first rank stands for it.
struct Columns {
    std::uint32_t width = 1;
    std::uint32_t count = 0;

    [[nodiscard]] std::uint32_t of(std::uint32_t rank) const { return rank / width; }
    [[nodiscard]] std::uint32_t first_rank(std::uint32_t column) const { return column * width; }
};

/// Columns of whole tensor groups where shifting every rank along the tensor axis provably changes nothing
/// (sim/folding.md): tensor groups tile the nodes, each in order on GPUs next to each other, and the cluster's rails
/// are alike. Else columns of one rank.
Columns tensor_columns(const strategies::Mesh& mesh, const strategies::RankPlacement& placement,
                       const topology::Cluster& cluster);

/// Every rank for itself.
Columns single_ranks(const strategies::Mesh& mesh);

}  // namespace orrery::sim
