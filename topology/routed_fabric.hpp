// A fabric whose routes are listed, host by host, over links that say nothing of where they begin and end; as SimGrid
// describes platforms.
//
//   a -> b: [l1, trunk, l2]       node a --l1-- router --trunk-- router --l2-- node b
//   a -> c: [l1, l3]                              |-----l3----- node c
//
// Routers are what lies between two links that follow each other on a route. A host with one link to itself in each
// direction has that for its NIC's cable; any other host gets a router of its own, with a cable that all of its links
// together can fill, so that nothing but the listed links limits it. A link that both directions share leads from a
// router to the same one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "topology/fabric.hpp"
#include "topology/simgrid_zones.hpp"

namespace orrery::topology {

/// The links from each host to each other one, as numbers of SharedLinks.
class HostRoutes {
public:
    explicit HostRoutes(std::uint32_t hosts) : hosts_(hosts), places_(std::size_t{hosts} * hosts) {}

    /// False, and nothing added, for a route without links or with more than are kept.
    [[nodiscard]] bool add(std::uint32_t from, std::uint32_t to, std::span<const std::uint32_t> links);
    [[nodiscard]] std::span<const std::uint32_t> at(std::uint32_t from, std::uint32_t to) const {
        const Place& place = places_[std::size_t{from} * hosts_ + to];
        return {links_.data() + place.first, place.count};
    }
    [[nodiscard]] std::uint32_t hosts() const { return hosts_; }

private:
    struct Place {
        std::size_t first = 0, count = 0;
    };
    std::uint32_t hosts_;
    std::vector<Place> places_;
    std::vector<std::uint32_t> links_;
};

/// A node for every host, with one NIC. Rates and latencies are the links'. Its bisection is what all hosts of the
/// first half can send together to those of the other, evenly over all pairs, until the first link is full.
std::shared_ptr<const Fabric> routed_fabric(FabricParts parts, const std::vector<SharedLink>& links, HostRoutes routes);

}  // namespace orrery::topology
