// Rail-only: the NICs 0 of all nodes have a network of their own, the NICs 1 another one, and so on; no switch joins
// the rails (Wang et al., "Rail-only: a low-cost high-performance network for training LLMs with trillion parameters",
// 2023, HOTI 2024). What must change rails does so over NVLink inside the node.
//
//   rail 0  ---+---------+----      rail 1  ---+---------+---    each one switch, or leaves and spines when the nodes
//              |         |                     |         |       are more than a switch's ports
//   node 0   NIC 0     node 1 NIC 0     node 0 NIC 1   node 1 NIC 1
#pragma once

#include "topology/fabric_spec.hpp"
#include "topology/fat_tree_fabric.hpp"

namespace orrery::topology {

class RailOnly final : public Fabric {
public:
    /// rail: the tree of one rail, with one NIC a node.
    RailOnly(const FatTree& rail, const FabricParts& parts);

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override;
    [[nodiscard]] bool joins(Port a, Port b) const override { return a.nic == b.nic; }
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const override;
    /// All rails together, each across the halves of the nodes.
    [[nodiscard]] double bisection_bytes_per_second() const override;
    [[nodiscard]] std::vector<std::uint64_t> node_pairs_by_hops() const override { return rail_.node_pairs_by_hops(); }

    [[nodiscard]] std::uint32_t router_of(Port p) const override;
    [[nodiscard]] std::uint32_t trunks() const override { return rails() * rail_.trunks(); }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    [[nodiscard]] std::uint32_t rails() const { return parts().nics_per_node; }
    /// A rail's router among those of all rails, layer by layer.
    [[nodiscard]] std::uint32_t renumbered(std::uint32_t rail, std::uint32_t router) const;

    FatTreeFabric rail_;
};

/// Keys: switch_ports, oversubscription.
std::shared_ptr<const Fabric> make_rail_only(const FabricSpec& spec, FabricParts parts);

}  // namespace orrery::topology
