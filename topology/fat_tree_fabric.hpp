// The leaf/spine(/core) fabric of a cluster. Routers: leaves, spines, cores, as FatTree numbers them.
#pragma once

#include "topology/fabric.hpp"
#include "topology/fat_tree.hpp"

namespace orrery::topology {

class FatTreeFabric final : public Fabric {
public:
    FatTreeFabric(const FatTree& tree, const FabricParts& parts) : Fabric(parts), tree_(tree) {}

    [[nodiscard]] const FatTree& tree() const { return tree_; }

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override;
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    /// The destination's slot on its leaf picks the spine and the core (d-mod-k: Zahavi, "Fat-tree routing and node
    /// ordering providing contention free traffic for MPI global collectives", 2012): two messages meet only if their
    /// destinations do.
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const override;
    /// Leaves share what leaves them among all their spines, and spines among all their cores, whatever its
    /// destination.
    [[nodiscard]] bool sprays_alike() const override { return true; }
    [[nodiscard]] std::uint32_t stands_for(std::uint32_t trunk) const override;
    /// With a plane for every NIC, leaf and group numbers carry the plane and nothing else of a route depends on it; on
    /// one switch a route is two NIC links.
    [[nodiscard]] bool rails_alike() const override { return tree_.tiers <= 1 || tree_.planes == tree_.nics_per_node; }
    /// Across the best balanced split of the nodes in order of their numbers.
    [[nodiscard]] double bisection_bytes_per_second() const override;
    [[nodiscard]] std::vector<std::uint64_t> node_pairs_by_hops() const override;

    [[nodiscard]] std::uint32_t router_of(Port p) const override { return tree_.leaf_of(p.node, p.nic); }
    [[nodiscard]] std::uint32_t trunks() const override;
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    /// Numbers of the links of one direction between leaves and spines, and between spines and cores.
    [[nodiscard]] std::uint32_t leaf_links() const { return tree_.leaves() * tree_.spines_per_group; }
    [[nodiscard]] std::uint32_t spine_links() const { return tree_.spines() * tree_.cores_per_group; }

    FatTree tree_;
};

}  // namespace orrery::topology
