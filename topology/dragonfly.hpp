// Dragonfly (Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA 2008): groups
// of a routers, all joined pairwise inside a group; every router has p ports for nodes and h global links.
//
//     group 0                 group 1                  g groups, at most a h + 1; between two of them
//    R0 -- R1 ----global---- R0 -- R1                  a h / (g - 1) global links, rounded down
//     | \/ |                  | \/ |
//     | /\ |                  | /\ |                   group i numbers its global links by the distance
//    R2 -- R3 ---- ...       R2 -- R3                  to the other group, and gives h to each router in turn
//
// A minimal route is local - global - local: at most three trunks, one of them global. Balanced: a = 2 p = 2 h.
#pragma once

#include "topology/fabric_spec.hpp"

namespace orrery::topology {

class Dragonfly final : public Fabric {
public:
    struct Sizes {
        std::uint32_t terminals, routers, global_links, groups;  ///< p, a, h, g
    };
    /// channels: global links between two groups, at least 1.
    Dragonfly(const Sizes& sizes, std::uint32_t channels, const FabricParts& parts)
        : Fabric(parts), s_(sizes), channels_(channels) {}

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override { return {{VertexKind::router, s_.groups * s_.routers}}; }
    /// The global links between two groups that give the fewest trunks.
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    /// The destination's router picks among them.
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const override;
    /// Global links between one half of the groups and the other; of one group, local links between half its routers.
    [[nodiscard]] double bisection_bytes_per_second() const override;

    [[nodiscard]] std::uint32_t router_of(Port p) const override { return port(p) / s_.terminals; }
    [[nodiscard]] std::uint32_t trunks() const override { return s_.groups * per_group(); }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    /// Links of a group: local ones router by router, then the global ones.
    [[nodiscard]] std::uint32_t locals() const { return s_.routers * (s_.routers - 1); }
    [[nodiscard]] std::uint32_t per_group() const { return locals() + (s_.groups - 1) * channels_; }
    [[nodiscard]] std::uint32_t local_link(std::uint32_t group, std::uint32_t from, std::uint32_t to) const;
    /// Global link `channel` of a group to the one `ahead` groups further on, and the router that has it.
    [[nodiscard]] std::uint32_t global(std::uint32_t ahead, std::uint32_t channel) const {
        return (ahead - 1) * channels_ + channel;
    }
    [[nodiscard]] std::uint32_t gateway(std::uint32_t ahead, std::uint32_t channel) const {
        return global(ahead, channel) / s_.global_links;
    }
    /// Local trunks that a route over this channel needs.
    [[nodiscard]] std::uint32_t detour(std::uint32_t from, std::uint32_t to, std::uint32_t channel) const;
    [[nodiscard]] std::uint32_t least_detour(std::uint32_t from, std::uint32_t to) const;

    Sizes s_;
    std::uint32_t channels_;
};

/// Keys: terminals p (default: the NICs of a node), routers a (2 p), global_links h (a / 2), groups g (as few as hold
/// the nodes; a h + 1 when neither is given).
std::shared_ptr<const Fabric> make_dragonfly(const FabricSpec& spec, FabricParts parts);

/// Groups that hold the ports: `asked`, or the fewest, or all of `most`; throws Error when they are more than `most`.
std::uint32_t choose_groups(std::uint32_t asked, const FabricParts& parts, std::uint64_t ports_per_group,
                            std::uint32_t most);

}  // namespace orrery::topology
