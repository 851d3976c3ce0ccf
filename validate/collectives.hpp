// Rows of nccl-tests and its like: one collective at several sizes.
#pragma once

#include <vector>

#include "kernels/collective.hpp"
#include "validate/map_row.hpp"

namespace orrery::validate {

struct CollectivePoint {
    double bytes = 0;    ///< nccl-tests' "size"
    double seconds = 0;  ///< out of place where both are published
};

struct MappedCollective {
    kernels::CollectiveKind kind = kernels::CollectiveKind::all_reduce;
    std::uint32_t ranks = 1;
    topology::ClusterSpec cluster;
    std::string profile;
    std::vector<CollectivePoint> points;  ///< in the row's order, at least one
};

/// Throws Skip, naming what is missing or not modelled.
MappedCollective map_collective(const Row& row, const HasProfile& has_profile);

}  // namespace orrery::validate
