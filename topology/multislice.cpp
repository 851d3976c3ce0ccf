#include "topology/multislice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace orrery::topology {

using namespace hardware;

Multislice::Multislice(std::unique_ptr<const Torus> slice, std::uint32_t slices, const FabricParts& parts)
    : Fabric(parts), slice_(std::move(slice)), slices_(slices) {}

std::string Multislice::describe() const {
    return fmt::format("{} slices, each a {}, joined by {} hosts", slices_, slice_->describe(), hosts());
}

std::vector<Layer> Multislice::layers() const {
    return {{VertexKind::router, ports()}, {VertexKind::leaf, hosts()}, {VertexKind::core, 1}};
}

std::uint32_t Multislice::paths(Port from, Port to) const {
    return together(from, to) ? slice_->paths(inside(from), inside(to)) : 1;
}

std::uint32_t Multislice::usual_path(Port from, Port to) const {
    return together(from, to) ? slice_->usual_path(inside(from), inside(to)) : 0;
}

double Multislice::bisection_bytes_per_second() const {
    if (slices_ == 1) return slice_->bisection_bytes_per_second();
    return std::max(1U, hosts() / 2) * tpu_host_bytes_per_second;
}

/// The slices' own, then chip to host, host to chip, host to core, core to host.
std::uint32_t Multislice::trunks() const { return chip_links() + 2 * ports() + 2 * hosts(); }

Trunk Multislice::trunk(std::uint32_t id) const {
    if (id < chip_links()) {
        Trunk own = slice_->trunk(id % slice_->trunks());
        const std::uint32_t first = id / slice_->trunks() * chips();
        own.from += first;
        own.to += first;
        return own;
    }
    const double rate = parts().trunk_bytes_per_second;
    const std::uint32_t first_host = ports(), core = ports() + hosts();
    id -= chip_links();
    if (id < 2 * ports()) {
        const std::uint32_t chip = id % ports(), host = first_host + host_of(chip);
        const double relative = parts().host_bytes_per_second / rate;
        return id < ports() ? Trunk{chip, host, 1, 1, 0, relative} : Trunk{host, chip, 1, 1, 0, relative};
    }
    id -= 2 * ports();
    const std::uint32_t host = first_host + id % hosts();
    const double relative = tpu_host_bytes_per_second / rate;
    return id < hosts() ? Trunk{host, core, 1, 3, core_cable_metres, relative}
                        : Trunk{core, host, 1, 3, core_cable_metres, relative};
}

void Multislice::route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                              std::vector<std::uint32_t>& out) const {
    const std::uint32_t source = port(from), sink = port(to);
    if (together(from, to)) {
        slice_->route_inside(inside(from), inside(to), path, first + source / chips() * slice_->trunks(), out);
        return;
    }
    const std::uint32_t up = first + chip_links(), across = up + 2 * ports();
    out.push_back(up + source);
    out.push_back(across + host_of(source));
    out.push_back(across + hosts() + host_of(sink));
    out.push_back(up + ports() + sink);
}

std::shared_ptr<const Fabric> make_multislice(const FabricSpec& spec, FabricParts parts) {
    if (!parts.on_chip)
        throw Error("", "/cluster/fabric", "a multislice fabric joins chips with links of their own, not nodes",
                    "use it with tpu-v4, tpu-v5e or tpu-v5p");
    const std::uint32_t slices = parameter(spec.groups, 2, "groups");
    if (parts.nodes % slices != 0)
        throw Error("", "/cluster/nodes", fmt::format("{} chips do not divide into {} slices", parts.nodes, slices),
                    "nodes counts the chips of all slices together, groups the slices");
    FabricParts of_slice = parts;
    of_slice.nodes = parts.nodes / slices;
    const auto sizes = spec.shape.empty() ? even_shape(std::max(1U, of_slice.nodes), 3)
                                          : parse_shape(spec.shape, "shape", Grid::most_dimensions);
    std::uint64_t chips = 1;
    for (const std::uint32_t size : sizes) chips *= size;
    of_slice.nodes = static_cast<std::uint32_t>(chips);
    auto slice = std::make_unique<Torus>(sizes, 1, "torus", of_slice);
    if (parts.nodes != 0 && parts.nodes != chips * slices)
        throw Error("", "/cluster/nodes",
                    fmt::format("{} slices of {} chips are not {} chips", slices, chips, parts.nodes),
                    fmt::format("the slices are whole: {} nodes, or another shape", chips * slices));
    parts.nodes = 0;
    return std::make_shared<Multislice>(std::move(slice), slices, fit(parts, chips * slices, "multislice"));
}

}  // namespace orrery::topology
