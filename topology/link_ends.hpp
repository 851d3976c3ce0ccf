// What a link joins.
#pragma once

#include <compare>

#include "topology/cluster.hpp"

namespace orrery::topology {

struct LinkEnds {
    VertexKind from, to;
    auto operator<=>(const LinkEnds&) const = default;
};

/// Throws Error for a link that the cluster lacks.
LinkEnds link_ends(const Cluster& cluster, LinkId link);

/// Of a vertex of the cluster's fabric, ports first (Fabric::Ends).
VertexKind fabric_vertex(const Fabric& fabric, std::uint32_t vertex);

}  // namespace orrery::topology
