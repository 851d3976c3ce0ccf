// Torus: every router joined to the next and the previous one in each dimension, around the end.
//
//   +- R -- R -- R -- R -+      a 2-D torus of 4 x 2; a dimension of size 2 has one cable, not two,
//   |  |    |    |    |  |      a dimension of size 1 none
//   +- R -- R -- R -- R -+
//
// TPU v3: 2-D, 32 x 32 chips. TPU v4: 3-D, 16 x 16 x 16 out of cubes of 4 x 4 x 4 whose faces meet in optical circuit
// switches, which act as cables (Jouppi et al., "TPU v4", ISCA 2023). Tofu (Ajima et al., IEEE Computer 42(11), 2009):
// six dimensions, X x Y x Z cubes of 2 x 3 x 2; ten links a node. K computer: 24 x 18 x 16.
//
// Degree 2n; diameter the sum of size / 2; bisection 2 N / k cables each way for the longest dimension k (Dally and
// Towles, "Principles and practices of interconnection networks", 2004, chapter 5).
#pragma once

#include "topology/fabric_spec.hpp"
#include "topology/grid.hpp"

namespace orrery::topology {

class Torus final : public Fabric {
public:
    /// `terminals` ports on every router. name: "torus", "Tofu".
    Torus(std::vector<std::uint32_t> sizes, std::uint32_t terminals, std::string name, const FabricParts& parts);

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override { return {{VertexKind::router, grid_.points()}}; }
    [[nodiscard]] std::vector<std::uint32_t> grid() const override { return grid_.sizes(); }
    /// Every order of the dimensions, and both ways round where they are equally long.
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    /// Dimension order; where both ways round are equal, upwards from even places.
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const override;
    /// Across the middle of the dimension where that cut is narrowest.
    [[nodiscard]] double bisection_bytes_per_second() const override;

    [[nodiscard]] std::uint32_t router_of(Port p) const override { return port(p) / terminals_; }
    [[nodiscard]] std::uint32_t trunks() const override { return grid_.points() * degree_; }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;
    /// route() for a fabric that this torus is a part of.
    void route_inside(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const {
        route_trunks(from, to, path, first, out);
    }

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    struct Way;
    [[nodiscard]] Way way(Port from, Port to) const;

    Grid grid_;
    std::uint32_t terminals_, degree_ = 0;
    std::string name_;
    std::array<std::uint32_t, Grid::most_dimensions> first_slot_{};  // of a router's links, by dimension
};

/// Keys: shape (default: the most even 3-D shape), terminals (default: the NICs of a node).
std::shared_ptr<const Fabric> make_torus(const FabricSpec& spec, FabricParts parts);
/// Keys: shape "XxYxZ" in cubes of 12 (default: the most even), terminals.
std::shared_ptr<const Fabric> make_tofu(const FabricSpec& spec, FabricParts parts);

}  // namespace orrery::topology
