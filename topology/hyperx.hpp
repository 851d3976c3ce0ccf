// HyperX: routers on a grid, each joined to all others of its row in every dimension (Ahn et al., "HyperX: topology,
// routing, and packaging of efficient large-scale networks", SC 2009). One dimension is the full mesh, two are the
// flattened butterfly.
//
//   R == R == R      the routers of a row are all joined pairwise, and so are those of a column
//   ||   ||   ||
//   R == R == R
//
// Degree the sum of S - 1; diameter the number of dimensions; bisection S^2 / 4 x N / S cables each way across the
// dimension of size S where that is least.
#pragma once

#include "topology/fabric_spec.hpp"
#include "topology/grid.hpp"

namespace orrery::topology {

class HyperX final : public Fabric {
public:
    HyperX(std::vector<std::uint32_t> sizes, std::uint32_t terminals, const FabricParts& parts);

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override { return {{VertexKind::router, grid_.points()}}; }
    /// Every order of the dimensions.
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    /// Dimension order.
    [[nodiscard]] std::uint32_t usual_path(Port, Port) const override { return 0; }
    /// Across the middle of the dimension where that cut is narrowest.
    [[nodiscard]] double bisection_bytes_per_second() const override;

    [[nodiscard]] std::uint32_t router_of(Port p) const override { return port(p) / terminals_; }
    [[nodiscard]] std::uint32_t trunks() const override { return grid_.points() * degree_; }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    [[nodiscard]] Order differing(std::uint32_t a, std::uint32_t b) const;

    Grid grid_;
    std::uint32_t terminals_, degree_ = 0;
    std::array<std::uint32_t, Grid::most_dimensions> first_slot_{};
};

/// Keys: shape (default: the most even 2-D shape), terminals (default: the NICs of a node).
std::shared_ptr<const Fabric> make_hyperx(const FabricSpec& spec, FabricParts parts);
/// Keys: shape "N": so many routers (default: one a node), terminals.
std::shared_ptr<const Fabric> make_full_mesh(const FabricSpec& spec, FabricParts parts);

}  // namespace orrery::topology
