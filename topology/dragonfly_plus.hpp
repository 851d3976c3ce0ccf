// Dragonfly+ (Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017): the groups of a
// dragonfly, each a two-tier fat-tree instead of a full mesh.
//
//     spine S0   S1  ==global== spine S0   S1      every spine has h global links
//           | \ / |                   | \ / |
//     leaf  L0   L1             leaf  L0   L1      every leaf has p ports for nodes and a cable to each spine
//
// A minimal route is up - global - down: three trunks between groups, two inside one. At most spines x h + 1 groups.
#pragma once

#include "topology/fabric_spec.hpp"

namespace orrery::topology {

class DragonflyPlus final : public Fabric {
public:
    struct Sizes {
        std::uint32_t terminals, leaves, spines, global_links, groups;
    };
    /// channels: global links between two groups, at least 1.
    DragonflyPlus(const Sizes& sizes, std::uint32_t channels, const FabricParts& parts)
        : Fabric(parts), s_(sizes), channels_(channels) {}

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override {
        return {{VertexKind::leaf, s_.groups * s_.leaves}, {VertexKind::spine, s_.groups * s_.spines}};
    }
    /// Inside a group every spine; between groups every global link of the two.
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    /// The destination's port picks among them (d-mod-k).
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const override;
    /// Global links between one half of the groups and the other; of one group, the cables of half its leaves.
    [[nodiscard]] double bisection_bytes_per_second() const override;

    [[nodiscard]] std::uint32_t router_of(Port p) const override { return port(p) / s_.terminals; }
    [[nodiscard]] std::uint32_t trunks() const override { return s_.groups * per_group(); }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    /// Links of a group: up from its leaves, down to them, then the global ones.
    [[nodiscard]] std::uint32_t ups() const { return s_.leaves * s_.spines; }
    [[nodiscard]] std::uint32_t per_group() const { return 2 * ups() + (s_.groups - 1) * channels_; }
    /// Global link `channel` of a group to the one `ahead` groups further on; its spine is that over global_links.
    [[nodiscard]] std::uint32_t global(std::uint32_t ahead, std::uint32_t channel) const {
        return (ahead - 1) * channels_ + channel;
    }

    Sizes s_;
    std::uint32_t channels_;
};

/// Keys: terminals p (default: the NICs of a node), routers (leaves of a group, p), spines (as many as leaves),
/// global_links h of a spine (p), groups (as few as hold the nodes; all when neither is given).
std::shared_ptr<const Fabric> make_dragonfly_plus(const FabricSpec& spec, FabricParts parts);

}  // namespace orrery::topology
