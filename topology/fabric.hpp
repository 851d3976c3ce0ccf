// What joins the nodes of a cluster. One kind of fabric is one class; every question is answered by arithmetic, so that
// a fabric of a million ports costs as much as one of ten.
//
//   node 0   NIC 0 --+          port: a NIC of a node, numbered node x nics_per_node + NIC
//            NIC 1 --+-- router == router --+-- NIC 0   node 1
//   links are directed and numbered: all ports up, all ports down, then the trunks (router to router).
//
// A fabric whose routers sit on the chips (TPU, Tofu) has a router for every port and no links between the two.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hardware/datasheets.hpp"
#include "hardware/network_libraries.hpp"
#include "topology/link.hpp"

namespace orrery::topology {

using hardware::Adapter;
using hardware::Switch;

/// A NIC of a node.
struct Port {
    std::uint32_t node = 0, nic = 0;
};

/// What all kinds of fabric are made of.
struct FabricParts {
    std::uint32_t nodes = 1, nics_per_node = 1;
    double nic_bytes_per_second = 0;
    double trunk_bytes_per_second = 0;  ///< one cable between routers
    Adapter adapter = {};
    Switch fabric_switch = {};
    hardware::NetworkLibraries libraries = {};
    bool on_chip = false;              ///< every port is its own router
    std::uint32_t chips_per_host = 1;  ///< chips that share a host and its port of the data centre's network
    double host_bytes_per_second = 0;  ///< of each chip's way to it, one direction; 0: not of chips
    double oversubscription = 1;       ///< leaf down : up, for kinds that plan their leaves
};

/// Routers of one layer, numbered one layer after the other.
struct Layer {
    VertexKind kind;
    std::uint32_t count;
};

/// A directed link between two routers.
struct Trunk {
    std::uint32_t from, to;
    std::uint32_t cables = 1;
    std::uint32_t tier = 2;
    double metres = 0;
    double relative_rate = 1;  ///< of a cable, against FabricParts::trunk_bytes_per_second
};

class Fabric {
public:
    explicit Fabric(const FabricParts& parts) : parts_(parts) {}
    virtual ~Fabric() = default;
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;

    [[nodiscard]] const FabricParts& parts() const { return parts_; }
    [[nodiscard]] std::uint32_t nodes() const { return parts_.nodes; }
    [[nodiscard]] std::uint32_t ports() const { return parts_.nodes * parts_.nics_per_node; }
    [[nodiscard]] std::uint32_t port(Port p) const { return p.node * parts_.nics_per_node + p.nic; }
    /// A single node has no network.
    [[nodiscard]] bool connected() const { return parts_.nodes > 1; }

    /// One line for reports: "3-D torus 4 x 4 x 8".
    [[nodiscard]] virtual std::string describe() const = 0;
    /// Layers of routers from the nodes outwards.
    [[nodiscard]] virtual std::vector<Layer> layers() const = 0;
    [[nodiscard]] std::uint32_t routers() const;
    /// What a layer's routers are called: "leaf", "spine"; of chips "chip", "host" and "core".
    [[nodiscard]] std::string layer_word(VertexKind kind) const;
    /// Ends that links have: ports of nodes, then routers; chips are both.
    [[nodiscard]] std::uint32_t vertices() const { return (parts_.on_chip ? 0 : ports()) + routers(); }
    /// Where routers stand on a grid and each is joined to the next in every dimension: its extents, the first varying
    /// fastest along the routers' numbers; several such grids stand behind one another. Empty for other fabrics.
    [[nodiscard]] virtual std::vector<std::uint32_t> grid() const { return {}; }

    [[nodiscard]] std::uint32_t links() const { return port_links() + trunks(); }
    [[nodiscard]] virtual Link link(std::uint32_t id) const;
    /// Vertices of a link: ports first, then routers; where routers sit on chips, router r is port r.
    struct Ends {
        std::uint32_t from, to;
    };
    [[nodiscard]] Ends ends(std::uint32_t id) const;

    /// Whether the fabric joins two ports: not across the rails of a rail-only fabric.
    [[nodiscard]] virtual bool joins(Port, Port) const { return true; }
    /// How many minimal routes there are between two ports that it joins; route() takes one by its number.
    [[nodiscard]] virtual std::uint32_t paths(Port from, Port to) const = 0;
    /// The route that deterministic routing takes.
    [[nodiscard]] virtual std::uint32_t usual_path(Port from, Port to) const = 0;
    /// Appends the links of a minimal route between ports of different nodes.
    void route(Port from, Port to, std::uint32_t path, std::vector<std::uint32_t>& out) const;
    /// Whether every message, sprayed over working links, loads those that leave the same routers for the same tier
    /// alike, so that the trunks of path 0 stand for all.
    [[nodiscard]] virtual bool sprays_alike() const { return false; }
    /// Where it does: how many trunks one stands for, each of which takes as small a part of a message.
    [[nodiscard]] virtual std::uint32_t stands_for(std::uint32_t /*trunk*/) const { return 1; }
    /// Whether any renumbering of the NICs of a node, the same in every node, maps usual routes, and the loads of
    /// sprayed messages, onto each other, link by link with equal rates, and same-numbered NICs share no link with
    /// others. Folding takes rails together on the word of this, so say true only where it is a theorem.
    [[nodiscard]] virtual bool rails_alike() const { return false; }
    /// Trunks on a minimal route.
    [[nodiscard]] std::uint32_t distance(Port from, Port to) const;

    /// Bytes per second, one direction, across the narrowest split of the ports in two halves, or across the split
    /// that the kind's literature calls its bisection; each kind says which.
    [[nodiscard]] virtual double bisection_bytes_per_second() const = 0;
    /// [k]: ordered pairs of nodes whose NICs 0 are k routers apart (k links, where routers sit on chips). Exact up
    /// to 2,048 nodes; beyond, unless the kind knows a formula, from 256 evenly spaced nodes, scaled up.
    [[nodiscard]] virtual std::vector<std::uint64_t> node_pairs_by_hops() const;

    [[nodiscard]] virtual std::uint32_t router_of(Port p) const = 0;
    [[nodiscard]] virtual std::uint32_t trunks() const = 0;
    [[nodiscard]] virtual Trunk trunk(std::uint32_t id) const = 0;  ///< id < trunks()

    /// Links between ports and routers, the first ones.
    [[nodiscard]] std::uint32_t port_links() const { return parts_.on_chip || !connected() ? 0 : 2 * ports(); }

protected:
    /// Appends `first` + trunk for each trunk of the route.
    virtual void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                              std::vector<std::uint32_t>& out) const = 0;

private:
    FabricParts parts_;
};

}  // namespace orrery::topology
