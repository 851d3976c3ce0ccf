#include "topology/rail_only.hpp"

#include <fmt/format.h>

namespace orrery::topology {

namespace {

FabricParts one_rail(FabricParts parts) {
    parts.nics_per_node = 1;
    return parts;
}

}  // namespace

RailOnly::RailOnly(const FatTree& rail, const FabricParts& parts) : Fabric(parts), rail_(rail, one_rail(parts)) {}

std::string RailOnly::describe() const {
    return fmt::format("rail-only, {} rails: {} each", rails(), rail_.describe());
}

std::vector<Layer> RailOnly::layers() const {
    std::vector<Layer> all = rail_.layers();
    for (Layer& layer : all) layer.count *= rails();
    return all;
}

std::uint32_t RailOnly::paths(Port from, Port to) const { return rail_.paths({from.node, 0}, {to.node, 0}); }
std::uint32_t RailOnly::usual_path(Port from, Port to) const { return rail_.usual_path({from.node, 0}, {to.node, 0}); }
double RailOnly::bisection_bytes_per_second() const { return rails() * rail_.bisection_bytes_per_second(); }

std::uint32_t RailOnly::renumbered(std::uint32_t rail, std::uint32_t router) const {
    std::uint32_t first = 0;
    for (const Layer& layer : rail_.layers()) {
        if (router < layer.count) return first + rail * layer.count + router;
        router -= layer.count;
        first += rails() * layer.count;
    }
    return first;
}

std::uint32_t RailOnly::router_of(Port p) const { return renumbered(p.nic, rail_.router_of({p.node, 0})); }

Trunk RailOnly::trunk(std::uint32_t id) const {
    const std::uint32_t rail = id / rail_.trunks();
    Trunk t = rail_.trunk(id % rail_.trunks());
    t.from = renumbered(rail, t.from);
    t.to = renumbered(rail, t.to);
    return t;
}

void RailOnly::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                            std::vector<std::uint32_t>& out) const {
    // The rail's own route begins and ends with its NIC links, which are numbered before its trunks.
    const std::size_t start = out.size();
    rail_.route({from.node, 0}, {to.node, 0}, path, out);
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(start));
    out.pop_back();
    const std::uint32_t ports_links = rail_.links() - rail_.trunks();
    for (std::size_t i = start; i < out.size(); ++i) out[i] += first + from.nic * rail_.trunks() - ports_links;
}

std::shared_ptr<const Fabric> make_rail_only(const FabricSpec&, FabricParts parts) {
    if (parts.nodes == 0) parts.nodes = parts.fabric_switch.ports;
    const FatTree rail = plan_fat_tree({.nodes = parts.nodes,
                                        .nics_per_node = 1,
                                        .ports = parts.fabric_switch.ports,
                                        .oversubscription = parts.oversubscription});
    return std::make_shared<RailOnly>(rail, parts);
}

}  // namespace orrery::topology
