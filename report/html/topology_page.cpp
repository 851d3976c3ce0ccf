#include "report/html/topology_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/units.hpp"
#include "report/html/cluster_structure.hpp"
#include "report/html/page.hpp"
#include "report/topology.hpp"
#include "topology/link_name.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using topology::Cluster;
using topology::GpuId;

/// One route link by link.
Json route(const Cluster& cluster, const char* what, GpuId from, GpuId to) {
    Json links = Json::array();
    double least = 0;
    for (const topology::LinkId id : cluster.route(from, to)) {
        const topology::Link link = cluster.link(id);
        least = least == 0 ? link.bytes_per_second : std::min(least, link.bytes_per_second);
        links.push_back(topology::link_name(cluster, id));
    }
    return {{"what", what},
            {"from", from},
            {"to", to},
            {"links", std::move(links)},
            {"seconds", cluster.latency_seconds(from, to)},
            {"bytes_per_second", least}};
}

/// From the first GPU: to its neighbour, to the nearest other node, to the same and to another place of the last one.
Json routes(const Cluster& cluster) {
    const std::uint32_t node = cluster.gpus_per_node();
    Json list = Json::array();
    if (node > 1) list.push_back(route(cluster, "within a node", 0, 1));
    if (cluster.nodes() < 2) return list;
    list.push_back(route(cluster, "to the next node", 0, node));
    const GpuId last = cluster.gpus() - node;
    if (last != node) list.push_back(route(cluster, "to the last node", 0, last));
    if (node > 1) list.push_back(route(cluster, "to the last node, another rail", 0, cluster.gpus() - 1));
    return list;
}

}  // namespace

std::string topology_page(const Cluster& cluster, const topology::Survey& survey, const std::string& command) {
    return page(Json{{"view", "topology"},
                     {"title", cluster.name()},
                     {"subtitle", fmt::format("{} GPUs in {} nodes, {}", format_grouped(cluster.gpus()),
                                              format_grouped(cluster.nodes()), cluster.fabric().describe())},
                     {"command", command},
                     {"facts", Json::parse(topology_json(cluster, survey))},
                     {"structure", cluster_structure(cluster)},
                     {"routes", routes(cluster)}});
}

}  // namespace orrery::report
