// Multislice: several tori of chips, each host of which has a port of the data centre's network, one non-blocking core.
//
//   chip -- chip      chip -- chip          slice 0 and 1 of 2 x 2 chips, two chips a host
//    |       |         |       |
//   chip -- chip      chip -- chip
//     \ host /          \ host /            a host's cable carries what all of its chips send to other slices
//        \______ core ______/
//
// Google Cloud documentation, "Cloud TPU Multislice overview": chips of a slice over their own links (ICI), slices over
// the data-centre network (DCN).
#pragma once

#include "topology/fabric_spec.hpp"
#include "topology/torus.hpp"

namespace orrery::topology {

class Multislice final : public Fabric {
public:
    /// Slices one behind the other. slice: of parts.nodes / slices chips.
    Multislice(std::unique_ptr<const Torus> slice, std::uint32_t slices, const FabricParts& parts);

    [[nodiscard]] std::string describe() const override;
    [[nodiscard]] std::vector<Layer> layers() const override;
    [[nodiscard]] std::vector<std::uint32_t> grid() const override { return slice_->grid(); }
    /// Within a slice those of its torus; between slices the only one.
    [[nodiscard]] std::uint32_t paths(Port from, Port to) const override;
    [[nodiscard]] std::uint32_t usual_path(Port from, Port to) const override;
    /// Half of the hosts' ports: between one half of the slices and the other.
    [[nodiscard]] double bisection_bytes_per_second() const override;

    [[nodiscard]] std::uint32_t router_of(Port p) const override { return port(p); }
    [[nodiscard]] std::uint32_t trunks() const override;
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override;

protected:
    void route_trunks(Port from, Port to, std::uint32_t path, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override;

private:
    [[nodiscard]] std::uint32_t chips() const { return slice_->ports(); }  // of a slice
    [[nodiscard]] std::uint32_t hosts() const {
        return (ports() + parts().chips_per_host - 1) / parts().chips_per_host;
    }
    [[nodiscard]] std::uint32_t host_of(std::uint32_t chip) const { return chip / parts().chips_per_host; }
    [[nodiscard]] Port inside(Port p) const { return {port(p) % chips(), 0}; }
    [[nodiscard]] bool together(Port a, Port b) const { return port(a) / chips() == port(b) / chips(); }
    [[nodiscard]] std::uint32_t chip_links() const { return slices_ * slice_->trunks(); }

    std::unique_ptr<const Torus> slice_;
    std::uint32_t slices_;
};

/// Keys: groups (slices; default 2), shape (of one slice; default: the most even 3-D shape). Chips only.
std::shared_ptr<const Fabric> make_multislice(const FabricSpec& spec, FabricParts parts);

}  // namespace orrery::topology
