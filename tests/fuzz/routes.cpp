#include "tests/fuzz/routes.hpp"

#include <algorithm>
#include <cmath>

#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

constexpr std::uint32_t most_nodes = 12;

void require_route(const topology::Fabric& fabric, topology::Port from, topology::Port to) {
    if (!fabric.joins(from, to)) return;
    const std::uint32_t path = fabric.usual_path(from, to);
    require(path < fabric.paths(from, to), "the usual path is one of the paths");
    std::vector<std::uint32_t> links;
    fabric.route(from, to, path, links);
    require(!links.empty(), "a route between two nodes has links");
    for (const std::uint32_t id : links) {
        require(id < fabric.links(), "a route takes links that there are");
        const topology::Link link = fabric.link(id);
        require(std::isfinite(link.bytes_per_second) && link.bytes_per_second > 0, "a link has a rate");
        require(std::isfinite(link.latency_seconds) && link.latency_seconds >= 0, "a link has a latency");
    }
}

}  // namespace

void require_routes(const topology::Fabric& fabric) {
    require(fabric.nodes() > 0 && !fabric.describe().empty(), "a fabric has nodes and a name");
    const std::uint32_t nodes = std::min(fabric.nodes(), most_nodes), last = fabric.parts().nics_per_node - 1;
    for (std::uint32_t a = 0; a < nodes; ++a)
        for (std::uint32_t b = 0; b < nodes; ++b)
            if (a != b) require_route(fabric, {a, 0}, {b, last});
}

}  // namespace orrery::fuzz
