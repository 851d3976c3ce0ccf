// Extended generalised fat-tree XGFT(h; m_1..m_h; w_1..w_h) (Ohring, Ibel, Das and Kumar, "On generalized fat trees",
// IPPS 1995): a vertex of level i has m_i children and w_(i+1) parents. Level 0 are the ports of nodes, with one parent
// each (w_1 = 1).
//
//   level 2      S  S          XGFT(2; 3, 2; 1, 2): two leaves of three ports, each under both spines,
//                |><|          here 3 : 2 oversubscribed
//   level 1      L  L
//               ||| |||
//   level 0     ports
//
// The k-ary fat-tree of Al-Fares, Loukissas and Vahdat ("A scalable, commodity data center network architecture",
// SIGCOMM 2008) is XGFT(3; k/2, k/2, k; 1, k/2, k/2): k^3 / 4 ports on k-port switches, any two of different pods
// k^2 / 4 routes and 5 switches apart.
//
// Labels: a switch of level l is (x_h .. x_(l+1), y_l .. y_1), x_i < m_i naming its part of the tree and y_i < w_i the
// copy; it has an edge to (x_h .. x_(l+2), y_(l+1) .. y_1) for each y_(l+1).
#pragma once

#include "topology/fabric_spec.hpp"

namespace orrery::topology {

class Xgft final : public Fabric {
public:
    static constexpr std::size_t most_levels = 6;

    /// children m_1..m_h and parents w_1..w_h with w_1 = 1. name: "" or "8-ary fat-tree".
    Xgft(std::vector<std::uint32_t> children, std::vector<std::uint32_t> parents, std::string name,
         const FabricParts& parts);

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override;
    /// One for every combination of parents up to the nearest common ancestor.
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    /// d-mod-k (Zahavi 2012): at level l the parent is destination / (w_1 .. w_l) mod w_(l+1).
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const override;
    /// Half the cables of the thinnest level: what the two halves of the top's children can exchange.
    [[nodiscard]] double bisection_bytes_per_second() const override;

    [[nodiscard]] std::uint32_t router_of(Port p) const override { return port(p) / m_[0]; }
    [[nodiscard]] std::uint32_t trunks() const override { return 2 * first_link_.back(); }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    [[nodiscard]] std::size_t height() const { return m_.size(); }
    /// Level of the nearest common ancestors of two ports' leaves; 1: the same leaf.
    [[nodiscard]] std::size_t meeting_level(std::uint32_t a, std::uint32_t b) const;
    /// The switch of level l above a leaf's position x whose copy is y; numbers within the level are x * copies + y.
    [[nodiscard]] std::uint32_t copies(std::size_t level) const { return copies_[level - 1]; }

    std::vector<std::uint32_t> m_, w_;
    std::string name_;
    std::vector<std::uint32_t> places_;        // [l-1]: parts of the tree at level l, the product of m above it
    std::vector<std::uint32_t> copies_;        // [l-1]: product of w_1 .. w_l
    std::vector<std::uint32_t> first_router_;  // [l-1] of level l
    std::vector<std::uint32_t> first_link_;    // [l-1]: upward links from level l; the last entry is their sum
};

/// Keys: shape "m1xm2x.." and parents "1xw2x.." (both needed).
std::shared_ptr<const Fabric> make_xgft(const FabricSpec& spec, FabricParts parts);
/// Keys: switch_ports k, even.
std::shared_ptr<const Fabric> make_k_ary(const FabricSpec& spec, FabricParts parts);

}  // namespace orrery::topology
