#include "topology/torus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.hpp"

namespace orrery::topology {

using namespace hardware;

/// What a minimal route must do in each dimension.
struct Torus::Way {
    Grid::Point from{}, to{};
    Order order;                   ///< dimensions in which they differ
    std::uint32_t ties = 0;        ///< bits: both ways round are as long
    std::uint32_t tied = 0;        ///< how many
    std::uint32_t up_on_ties = 0;  ///< bit t: the t-th tie usually goes upwards
};

Torus::Torus(std::vector<std::uint32_t> sizes, std::uint32_t terminals, std::string name, const FabricParts& parts)
    : Fabric(parts), grid_(std::move(sizes)), terminals_(terminals), name_(std::move(name)) {
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
        first_slot_[d] = degree_;
        degree_ += std::min(grid_.size(d) - 1, 2U);
    }
}

std::string Torus::describe() const {
    return fmt::format("{}-D {} {}{}", grid_.dimensions(), name_, grid_.to_text(), parts().on_chip ? " of chips" : "");
}

Torus::Way Torus::way(Port from, Port to) const {
    Way way{.from = grid_.at(router_of(from)), .to = grid_.at(router_of(to)), .order = {}};
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
        if (way.from[d] == way.to[d]) continue;
        way.order.add(d);
        const std::uint32_t size = grid_.size(d), up = (way.to[d] + size - way.from[d]) % size;
        if (size == 2 || 2 * up != size) continue;
        way.ties |= 1U << d;
        way.up_on_ties |= (way.from[d] % 2 == 0 ? 1U : 0U) << way.tied++;
    }
    return way;
}

std::uint32_t Torus::paths(Port from, Port to) const {
    const Way w = way(from, to);
    return factorial(w.order.count) << w.tied;
}

std::uint32_t Torus::usual_path(Port from, Port to) const { return way(from, to).up_on_ties; }

/// path: a bit for each tie (upwards), then the order of the dimensions.
void Torus::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                         std::vector<std::uint32_t>& out) const {
    const Way w = way(from, to);
    std::uint32_t upwards = 0;
    for (std::size_t d = 0, tie = 0; d < grid_.dimensions(); ++d) {
        const std::uint32_t size = grid_.size(d), up = (w.to[d] + size - w.from[d]) % size;
        const bool tied = (w.ties >> d & 1U) != 0;
        if (tied ? (path >> tie++ & 1U) != 0 : 2 * up < size) upwards |= 1U << d;
    }
    const Order order = w.order.permuted(path >> w.tied);
    std::uint32_t at = router_of(from);
    for (std::size_t i = 0; i < order.count; ++i) {
        const std::size_t d = order.dimension[i];
        const std::uint32_t size = grid_.size(d);
        const bool up = (upwards >> d & 1U) != 0;
        for (std::uint32_t place = w.from[d]; place != w.to[d];) {
            out.push_back(first + at * degree_ + first_slot_[d] + (up || size == 2 ? 0 : 1));
            place = (place + (up ? 1 : size - 1)) % size;
            at = grid_.moved(at, d, place);
        }
    }
}

Trunk Torus::trunk(std::uint32_t id) const {
    const std::uint32_t from = id / degree_, slot = id % degree_;
    std::size_t d = grid_.dimensions() - 1;
    while (first_slot_[d] > slot || grid_.size(d) == 1) --d;
    const std::uint32_t size = grid_.size(d), place = grid_.at(from)[d];
    const std::uint32_t step = slot == first_slot_[d] ? 1 : size - 1;
    return {from, grid_.moved(from, d, (place + step) % size), 1, 2, torus_cable_metres};
}

double Torus::bisection_bytes_per_second() const {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t d = 0; d < grid_.dimensions(); ++d) {
        const std::uint32_t size = grid_.size(d);
        if (size > 1) least = std::min(least, (size > 2 ? 2.0 : 1.0) * grid_.points() / size);
    }
    return grid_.points() == 1 ? 0 : least * parts().trunk_bytes_per_second;
}

namespace {

std::uint32_t routers_for(const FabricParts& parts, std::uint32_t terminals) {
    return (std::max(parts.nodes, 1U) * parts.nics_per_node + terminals - 1) / terminals;
}

std::shared_ptr<const Fabric> make(std::vector<std::uint32_t> sizes, std::uint32_t terminals, const char* name,
                                   const FabricParts& parts) {
    std::uint64_t routers = 1;
    for (const std::uint32_t size : sizes) routers *= size;
    return std::make_shared<Torus>(std::move(sizes), terminals, name, fit(parts, routers * terminals, name));
}

}  // namespace

std::shared_ptr<const Fabric> make_torus(const FabricSpec& spec, FabricParts parts) {
    const std::uint32_t terminals = parameter(spec.terminals, parts.nics_per_node, "terminals");
    auto sizes = spec.shape.empty() ? even_shape(routers_for(parts, terminals), 3)
                                    : parse_shape(spec.shape, "shape", Grid::most_dimensions);
    return make(std::move(sizes), terminals, "torus", parts);
}

std::shared_ptr<const Fabric> make_tofu(const FabricSpec& spec, FabricParts parts) {
    const std::uint32_t terminals = parameter(spec.terminals, parts.nics_per_node, "terminals");
    const auto cubes = spec.shape.empty() ? even_shape((routers_for(parts, terminals) + 11) / 12, 3)
                                          : parse_shape(spec.shape, "shape", 3);
    if (cubes.size() != 3) {
        throw Error("", "/cluster/shape", fmt::format("\"{}\" has {} sizes", spec.shape, cubes.size()),
                    "give the three sizes X, Y and Z in cubes of 2 x 3 x 2, like \"24x18x16\"");
    }
    std::vector<std::uint32_t> sizes{2, 3, 2};
    sizes.insert(sizes.end(), cubes.begin(), cubes.end());
    return make(std::move(sizes), terminals, "Tofu", parts);
}

}  // namespace orrery::topology
