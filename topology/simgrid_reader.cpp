#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "base/text.hpp"
#include "topology/routed_fabric.hpp"
#include "topology/simgrid_xml.hpp"
#include "topology/simgrid_zones.hpp"
#include "topology/xml_file.hpp"

namespace orrery::topology {

namespace {

using Xml = pugi::xml_node;
using Names = std::initializer_list<std::string_view>;

constexpr std::size_t most_bytes = 64U << 20;
constexpr std::uint32_t most_hosts = 1024, most_depth = 8;
constexpr std::uint32_t nothing = SimgridZones::nothing;

/// "25GBps" or "1.5us": a number and a unit out of the table; NaN for anything else.
double quantity(std::string_view text, std::initializer_list<std::pair<std::string_view, double>> units) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || !std::isfinite(number)) return std::nan("");
    std::string_view unit(end, text.data() + text.size());
    unit.remove_prefix(std::min(unit.size(), unit.find_first_not_of(' ')));
    for (const auto& [name, factor] : units) {
        if (name == unit) return number * factor;
    }
    return std::nan("");
}

/// SimGrid's units of bandwidth: bits or bytes, decimal or binary prefixes.
double bandwidth(std::string_view text) {
    return quantity(text, {{"Bps", 1},
                           {"kBps", 1e3},
                           {"MBps", 1e6},
                           {"GBps", 1e9},
                           {"TBps", 1e12},
                           {"KiBps", 1024},
                           {"MiBps", 1048576},
                           {"GiBps", 1073741824},
                           {"bps", 0.125},
                           {"kbps", 125},
                           {"Mbps", 125e3},
                           {"Gbps", 125e6},
                           {"Tbps", 125e9}});
}

/// A bare 0 needs no unit.
double seconds(std::string_view text) {
    return quantity(
        text,
        {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"ps", 1e-12}, {"", text == "0" ? 0 : std::nan("")}});
}

class Loader {
public:
    Loader(const std::string& text, const std::string& file, const FabricParts& parts)
        : xml_(text, file), file_(file), parts_(parts) {}

    std::shared_ptr<const Fabric> load() {
        const Xml platform = xml_.child("platform");
        if (!platform) xml_.fail("there is no <platform> element", "name a platform file of SimGrid");
        read_zone(platform, nothing, 0);
        for (const auto& [element, from, to] : pending_) add_route(element, from, to);
        if (hosts_.size() < 2) xml_.fail(fmt::format("{} hosts are in the file", hosts_.size()), "add <host> elements");
        if (parts_.nics_per_node != 1) {
            throw Error("", "/cluster/nics_per_node",
                        fmt::format("{} NICs a node; a host of SimGrid has one network", parts_.nics_per_node),
                        "set nics_per_node to 1");
        }
        if (parts_.nodes != 0 && parts_.nodes != hosts_.size()) {
            throw Error("", "/cluster/nodes",
                        fmt::format("{} nodes; {} has {} hosts", parts_.nodes, file_, hosts_.size()),
                        "leave nodes out of the scenario");
        }
        return finish(platform);
    }

private:
    void only_attributes(const Xml& element, Names known) const {
        for (const pugi::xml_attribute& attribute : element.attributes()) {
            if (std::ranges::find(known, std::string_view(attribute.name())) != known.end()) continue;
            xml_.fail_attribute(element, attribute.name(),
                                "leave it out; read are: " + join(std::vector<std::string_view>(known)));
        }
    }
    /// An attribute that must be there.
    std::string text_of(const Xml& element, const char* attribute) const {
        const std::string value = element.attribute(attribute).value();
        if (value.empty()) {
            xml_.fail(element, fmt::format("<{}> has no {}", element.name(), attribute),
                      fmt::format("add {}=\"..\"", attribute));
        }
        return value;
    }
    double bandwidth_of(const Xml& element, const char* attribute) const {
        const double value = bandwidth(text_of(element, attribute));
        if (!(value > 0)) xml_.fail_attribute(element, attribute, "write it like \"25GBps\" or \"200Gbps\"");
        return value;
    }
    double seconds_of(const Xml& element, const char* attribute) const {
        if (!element.attribute(attribute)) return 0;
        const double value = seconds(element.attribute(attribute).value());
        if (!(value >= 0)) xml_.fail_attribute(element, attribute, "write it like \"1.5us\"");
        return value;
    }
    /// Whether a link has a capacity for each direction.
    bool duplex(const Xml& element, const char* attribute, std::string_view usual) const {
        const std::string_view policy = element.attribute(attribute).as_string(usual.data());
        const bool split = policy == "SPLITDUPLEX" || policy == "FULLDUPLEX";  // its older name
        if (!split && policy != "SHARED") {
            xml_.fail_attribute(element, attribute,
                                "write SPLITDUPLEX, or SHARED with the bandwidth of all flows together");
        }
        return split;
    }

    std::uint32_t add_point(const Xml& element, SimgridZones::NetPoint point) {
        const std::string name = point.name;
        const std::uint32_t id = zones_.add(std::move(point));
        if (!point_names_.try_emplace(name, id).second) {
            xml_.fail(element, fmt::format("the name \"{}\" is given twice", name), "choose another");
        }
        return id;
    }
    void add_host(const Xml& element, SimgridZones::NetPoint point) {
        if (hosts_.size() == most_hosts) {
            xml_.fail(element, fmt::format("more than {} hosts", most_hosts),
                      "name one of our own fabrics: `orrery list fabrics`");
        }
        hosts_.push_back(add_point(element, std::move(point)));
    }
    std::uint32_t point_named(const Xml& element, const char* attribute) const {
        const auto at = point_names_.find(text_of(element, attribute));
        if (at == point_names_.end()) {
            xml_.fail_attribute(element, attribute, "name a host, router or zone of this file");
        }
        return at->second;
    }

    void read_zone(const Xml& parent, std::uint32_t zone, std::uint32_t depth) {
        for (const Xml element : parent.children()) {
            const std::string_view kind = element.name();
            if (element.type() != pugi::node_element || kind == "prop" || kind == "config") continue;
            if (kind == "zone" || kind == "AS") {
                inner_zone(element, zone, depth);
            } else if (kind == "cluster") {
                cluster(element, zone);
            } else if (zone == nothing) {
                xml_.fail(element, fmt::format("<{}> stands outside of a zone", kind),
                          "wrap it in <zone id=\"all\" routing=\"Full\">");
            } else if (kind == "host") {
                only_attributes(element, {"id", "speed", "core", "pstate", "coordinates"});
                add_host(element, {.name = text_of(element, "id"), .zone = zone});
            } else if (kind == "router") {
                only_attributes(element, {"id", "coordinates"});
                add_point(element, {.name = text_of(element, "id"), .zone = zone});
            } else if (kind == "link") {
                link(element);
            } else if (kind == "route" || kind == "zoneRoute" || kind == "ASroute") {
                // Routes may name what follows them.
                pending_.push_back({element, zone, kind != "route"});
            } else {
                xml_.fail(element, fmt::format("<{}> is not read", kind),
                          "describe the network by zone, host, router, link, route, zoneRoute and cluster");
            }
        }
    }

    void inner_zone(const Xml& element, std::uint32_t zone, std::uint32_t depth) {
        only_attributes(element, {"id", "routing"});
        if (std::string_view(element.attribute("routing").value()) != "Full") {
            xml_.fail_attribute(element, "routing",
                                "write routing=\"Full\" and a route for every pair of hosts; for a torus, dragonfly or "
                                "fat-tree name one of our own fabrics (`orrery list fabrics`)");
        }
        if (depth == most_depth) {
            xml_.fail(element, fmt::format("zones are more than {} deep", most_depth), "flatten them");
        }
        const std::uint32_t id = add_point(element, {.name = text_of(element, "id"), .zone = zone, .is_zone = true});
        read_zone(element, id, depth + 1);
    }

    void link(const Xml& element) {
        only_attributes(element, {"id", "bandwidth", "latency", "sharing_policy"});
        const std::string name = text_of(element, "id");
        // A FATPIPE may stand there as a loopback, which no route between hosts takes.
        const bool fat = std::string_view(element.attribute("sharing_policy").value()) == "FATPIPE";
        const std::uint32_t id =
            zones_.add_link(name, bandwidth_of(element, "bandwidth"), seconds_of(element, "latency"),
                            !fat && duplex(element, "sharing_policy", "SHARED"));
        if (!link_names_.try_emplace(name, id, fat).second) {
            xml_.fail(element, fmt::format("the name \"{}\" is given twice", name), "choose another");
        }
    }

    /// "0-3,5": the numbers of a cluster's hosts.
    std::vector<std::uint32_t> radical(const Xml& element) const {
        const std::string text = text_of(element, "radical");
        const char *at = text.data(), *const end = at + text.size();
        std::vector<std::uint32_t> numbers;
        while (at != end) {
            std::uint32_t first = 0, last = 0;
            auto part = std::from_chars(at, end, first);
            last = first;
            if (part.ec == std::errc{} && part.ptr != end && *part.ptr == '-') {
                part = std::from_chars(part.ptr + 1, end, last);
            }
            const bool more = part.ptr != end && *part.ptr == ',' && part.ptr + 1 != end;
            if (part.ec != std::errc{} || last < first || last - first >= most_hosts || (part.ptr != end && !more) ||
                numbers.size() > most_hosts) {
                xml_.fail_attribute(element, "radical",
                                    fmt::format("write it like \"0-3,5\", at most {} hosts", most_hosts));
            }
            for (std::uint32_t number = first; number <= last; ++number) numbers.push_back(number);
            at = more ? part.ptr + 1 : end;
        }
        return numbers;
    }

    void cluster(const Xml& element, std::uint32_t zone) {
        only_attributes(element,
                        {"id", "prefix", "suffix", "radical", "speed", "core", "bw", "lat", "sharing_policy", "bb_bw",
                         "bb_lat", "bb_sharing_policy", "loopback_bw", "loopback_lat", "router_id", "topology"});
        if (std::string_view(element.attribute("topology").as_string("FLAT")) != "FLAT") {
            xml_.fail_attribute(element, "topology",
                                "name our own fabric of that kind: xgft, torus or dragonfly (`orrery list fabrics`)");
        }
        const std::string id = text_of(element, "id"), prefix = element.attribute("prefix").value(),
                          suffix = element.attribute("suffix").value();
        const bool both = duplex(element, "sharing_policy", "SPLITDUPLEX");
        const std::uint32_t self = add_point(
            element,
            {.name = id, .zone = zone, .is_zone = true, .is_cluster = true, .backbone = backbone(element, id)});
        const std::string router = element.attribute("router_id").value();
        add_point(element, {.name = router.empty() ? prefix + id + "_router" + suffix : router, .zone = self});
        const double rate = bandwidth_of(element, "bw"), latency = seconds_of(element, "lat");
        for (const std::uint32_t number : radical(element)) {
            const std::string name = fmt::format("{}{}{}", prefix, number, suffix);
            const std::uint32_t up = zones_.add_link(name + "'s link", rate, latency, both);
            add_host(element, {.name = name, .zone = self, .up = {up}, .down = {zones_.links()[up].back}});
        }
    }

    SimgridZones::Links backbone(const Xml& element, const std::string& id) {
        if (!element.attribute("bb_bw")) return {};
        if (duplex(element, "bb_sharing_policy", "SHARED")) {
            xml_.fail_attribute(element, "bb_sharing_policy", "write SHARED: a backbone has no directions");
        }
        return {
            zones_.add_link(id + "'s backbone", bandwidth_of(element, "bb_bw"), seconds_of(element, "bb_lat"), false)};
    }

    struct Pending {
        Xml element;
        std::uint32_t zone;
        bool of_zones;
    };

    void add_route(const Xml& element, std::uint32_t zone, bool of_zones) {
        of_zones ? only_attributes(element, {"src", "dst", "gw_src", "gw_dst", "symmetrical"})
                 : only_attributes(element, {"src", "dst", "symmetrical"});
        const std::uint32_t from = point_named(element, "src"), to = point_named(element, "dst");
        for (const auto& [point, name] : {std::pair{from, "src"}, std::pair{to, "dst"}}) {
            if (zones_.points()[point].zone == zone && zones_.points()[point].is_zone == of_zones) continue;
            xml_.fail_attribute(element, name,
                                fmt::format("name a {} of the zone that the route stands in",
                                            of_zones ? "zone (zoneRoute)" : "host or router (route)"));
        }
        SimgridZones::Route route;
        bool fat = false;
        for (const Xml hop : element.children()) {
            if (hop.type() == pugi::node_element) route.links.push_back(hop_link(hop, fat));
        }
        if (from == to) return;  // to itself: nothing leaves the host
        if (fat) {
            xml_.fail(element, "a FATPIPE link is on the route",
                      "write SHARED with the bandwidth of all flows together");
        }
        if (of_zones) {
            route.leave = gateway(element, "gw_src", from);
            route.enter = gateway(element, "gw_dst", to);
        }
        const std::string_view symmetrical = element.attribute("symmetrical").as_string("YES");
        const bool both = symmetrical == "YES" || symmetrical == "yes";
        if (!both && symmetrical != "NO" && symmetrical != "no") {
            xml_.fail_attribute(element, "symmetrical", "write YES or NO");
        }
        SimgridZones::Route back = zones_.reversed(route);
        if (!zones_.add_route(from, to, std::move(route)) || (both && !zones_.add_route(to, from, std::move(back)))) {
            xml_.fail(element, "there is a route already",
                      "leave one out, or write symmetrical=\"NO\" where both directions are listed");
        }
    }

    std::uint32_t gateway(const Xml& element, const char* attribute, std::uint32_t zone) const {
        const std::uint32_t point = point_named(element, attribute);
        if (zones_.points()[point].is_zone || !zones_.holds(zone, point)) {
            xml_.fail_attribute(element, attribute,
                                fmt::format("name a host or router in {}", zones_.points()[zone].name));
        }
        return point;
    }

    std::uint32_t hop_link(const Xml& hop, bool& fat) const {
        if (std::string_view(hop.name()) != "link_ctn") {
            xml_.fail(hop, fmt::format("<{}> is no part of a route", hop.name()), "write <link_ctn id=\"..\"/>");
        }
        only_attributes(hop, {"id", "direction"});
        const auto at = link_names_.find(text_of(hop, "id"));
        if (at == link_names_.end())
            xml_.fail_attribute(hop, "id", "name a <link> that stands before the zone's routes");
        const auto [id, is_fat] = at->second;
        fat |= is_fat;
        const std::string_view direction = hop.attribute("direction").as_string("NONE");
        const bool split = zones_.links()[id].back != id;
        if (split ? direction != "UP" && direction != "DOWN" : direction != "NONE") {
            xml_.fail_attribute(
                hop, "direction",
                split ? "write UP or DOWN: the link is SPLITDUPLEX" : "leave it out: the link is SHARED");
        }
        return direction == "DOWN" ? id + 1 : id;
    }

    std::shared_ptr<const Fabric> finish(const Xml& platform) {
        const auto count = static_cast<std::uint32_t>(hosts_.size());
        HostRoutes routes(count);
        SimgridZones::Links links;
        for (std::uint32_t from = 0; from < count; ++from) {
            for (std::uint32_t to = 0; to < count; ++to) {
                if (from == to) continue;
                links.clear();
                route(platform, hosts_[from], hosts_[to], links);
                if (routes.add(from, to, links)) continue;
                xml_.fail(platform,
                          fmt::format("the route from {} to {} has {} links", zones_.points()[hosts_[from]].name,
                                      zones_.points()[hosts_[to]].name, links.size()),
                          "a route has 1 to 256 links, and all together 32 million");
            }
        }
        parts_.nodes = count;
        return routed_fabric(parts_, zones_.links(), routes);
    }

    void route(const Xml& platform, std::uint32_t from, std::uint32_t to, SimgridZones::Links& links) const {
        try {
            zones_.route(from, to, links);
        } catch (const SimgridZones::NoRoute& missing) {
            xml_.fail(platform, fmt::format("there is no route from {}", missing.what()),
                      "add a <route> or, between zones, a <zoneRoute>");
        }
    }

    XmlFile xml_;
    const std::string& file_;
    FabricParts parts_;
    SimgridZones zones_;
    std::map<std::string, std::uint32_t> point_names_;
    std::map<std::string, std::pair<std::uint32_t, bool>> link_names_;  // id, FATPIPE
    std::vector<std::uint32_t> hosts_;
    std::vector<Pending> pending_;
};

}  // namespace

std::shared_ptr<const Fabric> parse_simgrid_xml(const std::string& text, const std::string& file,
                                                const FabricParts& parts) {
    return Loader(text, file, parts).load();
}

std::shared_ptr<const Fabric> read_simgrid_xml(const std::string& file, const FabricParts& parts) {
    return parse_simgrid_xml(read_file(file, "name a platform file of SimGrid", most_bytes), file, parts);
}

}  // namespace orrery::topology
