// SimGrid's model of a platform, as far as it is read: netpoints (hosts, routers, zones) inside zones, links, and
// routes between the netpoints of one zone. A route between hosts of different zones climbs to the zone that holds both
// and goes down again, through the gateways that the zones' own route names.
//
//   zone "site"   route rack0 -> rack1:  gateway r0, [trunk], gateway r1
//     zone "rack0"   host a --[a up]-- router r0          a -> b:  [a up] [trunk] [b down]
//     zone "rack1"   router r1 --[b down]-- host b
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace orrery::topology {

/// A capacity that all routes over it share. A SPLITDUPLEX link is two of them.
struct SharedLink {
    std::string name;
    double bytes_per_second = 0, seconds = 0;
    std::uint32_t back = 0;  ///< the other direction; itself when both directions share it
};

class SimgridZones {
public:
    static constexpr std::uint32_t nothing = 0xffffffff;
    using Links = std::vector<std::uint32_t>;

    struct Route {
        Links links = {};
        std::uint32_t leave = nothing, enter = nothing;  ///< gateways, of a route between zones
    };

    /// What can be the end of a route. A zone of the cluster kind knows its hosts' links, other zones list routes.
    struct NetPoint {
        std::string name;
        std::uint32_t zone = nothing;  ///< that it is in
        bool is_zone = false, is_cluster = false;
        Links up = {}, down = {};  ///< of a host in a cluster: between it and the cluster's switch
        Links backbone = {};       ///< of a cluster
    };

    /// No way is known between two netpoints.
    struct NoRoute : std::runtime_error {
        using std::runtime_error::runtime_error;
    };

    std::uint32_t add(NetPoint point);
    /// Both directions of a link; the second is the first unless `duplex`.
    std::uint32_t add_link(const std::string& name, double bytes_per_second, double seconds, bool duplex);
    /// False when there is one already.
    bool add_route(std::uint32_t from, std::uint32_t to, Route route);
    [[nodiscard]] Route reversed(const Route& route) const;

    [[nodiscard]] const std::vector<NetPoint>& points() const { return points_; }
    [[nodiscard]] const std::vector<SharedLink>& links() const { return links_; }
    /// Whether a zone holds a netpoint, directly or further down.
    [[nodiscard]] bool holds(std::uint32_t zone, std::uint32_t point) const;
    /// Appends the links from one netpoint to another. Throws NoRoute.
    void route(std::uint32_t from, std::uint32_t to, Links& out) const;

private:
    [[nodiscard]] std::uint32_t depth(std::uint32_t point) const;
    void route_in_zone(std::uint32_t from, std::uint32_t to, Links& out) const;

    std::vector<NetPoint> points_;
    std::vector<SharedLink> links_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Route> routes_;
};

}  // namespace orrery::topology
