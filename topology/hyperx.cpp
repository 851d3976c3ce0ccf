#include "topology/hyperx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace orrery::topology {

using namespace hardware;

HyperX::HyperX(std::vector<std::uint32_t> sizes, std::uint32_t terminals, const FabricParts& parts)
    : Fabric(parts), grid_(std::move(sizes)), terminals_(terminals) {
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
        first_slot_[d] = degree_;
        degree_ += grid_.size(d) - 1;
    }
}

std::string HyperX::describe() const {
    if (grid_.dimensions() == 1) return fmt::format("full mesh of {} routers", grid_.points());
    return fmt::format("HyperX {}, {} ports a router", grid_.to_text(), terminals_);
}

Order HyperX::differing(std::uint32_t a, std::uint32_t b) const {
    const Grid::Point from = grid_.at(a), to = grid_.at(b);
    Order order;
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
        if (from[d] != to[d]) order.add(d);
    }
    return order;
}

std::uint32_t HyperX::paths(Port from, Port to) const {
    return factorial(differing(router_of(from), router_of(to)).count);
}

void HyperX::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                          std::vector<std::uint32_t>& out) const {
    std::uint32_t at = router_of(from);
    const std::uint32_t end = router_of(to);
    const Order order = differing(at, end).permuted(path);
    const Grid::Point target = grid_.at(end);
    for (std::size_t i = 0; i < order.count; ++i) {
        const std::size_t d = order.dimension[i];
        const std::uint32_t here = grid_.at(at)[d], there = target[d];
        out.push_back(first + at * degree_ + first_slot_[d] + (there < here ? there : there - 1));
        at = grid_.moved(at, d, there);
    }
}

/// A router's links of one dimension are in the order of the places they lead to, its own left out.
Trunk HyperX::trunk(std::uint32_t id) const {
    const std::uint32_t from = id / degree_, slot = id % degree_;
    std::size_t d = grid_.dimensions() - 1;
    while (first_slot_[d] > slot || grid_.size(d) == 1) --d;
    const std::uint32_t other = slot - first_slot_[d];
    const std::uint32_t place = other < grid_.at(from)[d] ? other : other + 1;
    return {from, grid_.moved(from, d, place), 1, 2, spine_cable_metres};
}

double HyperX::bisection_bytes_per_second() const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
        const std::uint32_t size = grid_.size(d), half = size / 2;
        if (size > 1) least = std::min(least, static_cast<double>(half * (size - half)) * grid_.points() / size);
    }
    return grid_.points() == 1 ? 0 : least * parts().trunk_bytes_per_second;
}

namespace {

std::shared_ptr<const Fabric> make(const FabricSpec& spec, const FabricParts& parts, std::size_t usual_dimensions,
                                   std::size_t most_dimensions, const char* name) {
    const std::uint32_t terminals = parameter(spec.terminals, parts.nics_per_node, "terminals");
    const std::uint32_t ports = std::max(parts.nodes, 1U) * parts.nics_per_node;
    auto sizes = spec.shape.empty() ? even_shape((ports + terminals - 1) / terminals, usual_dimensions)
                                    : parse_shape(spec.shape, "shape", most_dimensions);
    std::uint64_t routers = 1;
    for (const std::uint32_t size : sizes) routers *= size;
    return std::make_shared<HyperX>(std::move(sizes), terminals, fit(parts, routers * terminals, name));
}

}  // namespace

std::shared_ptr<const Fabric> make_hyperx(const FabricSpec& spec, FabricParts parts) {
    return make(spec, parts, 2, Grid::most_dimensions, "HyperX");
}

std::shared_ptr<const Fabric> make_full_mesh(const FabricSpec& spec, FabricParts parts) {
    return make(spec, parts, 1, 1, "full mesh");
}

}  // namespace orrery::topology
