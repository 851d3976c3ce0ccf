#include "report/html/cluster_structure.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using topology::Cluster;
using topology::Fabric;
using topology::Trunk;

constexpr std::size_t most_units = 5;      ///< kinds of unit beside the opened one
constexpr std::size_t most_groups = 12;    ///< boxes of a layer
constexpr std::size_t most_switches = 16;  ///< of the opened unit

using Members = std::vector<std::uint32_t>;

/// Boxes of a row: which of them a member of the layer belongs to.
struct Row {
    std::uint32_t first = 0, count = 0;  ///< routers of the layer
    std::vector<std::uint32_t> box;      ///< by router of the layer
    std::vector<Json> boxes;
};

class Structure {
public:
    explicit Structure(const Cluster& cluster)
        : cluster_(cluster), fabric_(cluster.fabric()), layers_(fabric_.layers()) {
        rails_.resize(fabric_.routers());
        find_units(layers_.front().count);
        read_trunks();
        std::uint32_t first = layers_.front().count;
        for (std::size_t i = 1; i < layers_.size(); ++i) {
            rows_.push_back(groups(first, layers_[i].count));
            first += layers_[i].count;
        }
    }

    Json json() {
        Json rows = Json::array();
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            count_cables(i);
            rows.push_back({{"layer", layer_name(i + 1)}, {"groups", rows_[i].boxes}, {"beside", beside(rows_[i])}});
        }
        Json units = Json::array();
        for (const Json& unit : leaves_.boxes) units.push_back(unit);
        return {{"node", node()},
                {"units", std::move(units)},
                {"opened", opened()},
                {"switches", layers_.front().count},
                {"layer", layer_name(0)},
                {"rows", std::move(rows)},
                {"chips", fabric_.parts().on_chip}};
    }

private:
    [[nodiscard]] std::string layer_name(std::size_t layer) const { return std::string(name(layers_[layer].kind)); }

    /// Nodes by the switches that they are cabled to; kinds of units by size.
    void find_units(std::uint32_t first_layer) {
        std::map<Members, std::uint32_t> units;  // switches -> number of nodes
        Members order;
        std::vector<Members> switches;
        for (std::uint32_t node = 0; node < cluster_.nodes(); ++node) {
            Members mine;
            for (std::uint32_t nic = 0; nic < fabric_.parts().nics_per_node; ++nic) {
                const std::uint32_t router = fabric_.router_of({node, nic});
                mine.push_back(router);
                rails_[router].insert(nic);
            }
            std::ranges::sort(mine);
            mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
            const auto [at, fresh] = units.try_emplace(mine, 0);
            if (fresh) switches.push_back(mine);
            ++at->second;
        }
        leaves_ = {0, first_layer, std::vector<std::uint32_t>(first_layer, 0), {}};
        std::map<std::pair<std::uint32_t, std::size_t>, std::size_t> kinds;  // nodes, switches -> box
        for (const Members& each : switches) {
            const std::uint32_t nodes = units.at(each);
            const bool opened = leaves_.boxes.empty();
            if (opened) opened_ = each;
            const std::size_t box = opened ? 0 : box_of(kinds, {nodes, each.size()});
            if (box == leaves_.boxes.size())
                leaves_.boxes.push_back({{"count", 0}, {"nodes", nodes}, {"switches", each.size()}});
            leaves_.boxes[box]["count"] = leaves_.boxes[box]["count"].get<std::uint64_t>() + 1;
            for (const std::uint32_t router : each)
                if (router < first_layer) leaves_.box[router] = static_cast<std::uint32_t>(box);
        }
    }

    /// Kinds that are too many share the last box, which then says no size.
    std::size_t box_of(std::map<std::pair<std::uint32_t, std::size_t>, std::size_t>& kinds,
                       std::pair<std::uint32_t, std::size_t> kind) {
        const auto found = kinds.find(kind);
        if (found != kinds.end()) return found->second;
        const std::size_t box = std::min(leaves_.boxes.size(), most_units);
        if (box < leaves_.boxes.size()) leaves_.boxes[box]["nodes"] = leaves_.boxes[box]["switches"] = nullptr;
        kinds.emplace(kind, box);
        return box;
    }

    /// Cables downwards of every router above the first layer.
    void read_trunks() {
        below_.resize(fabric_.routers());
        for (std::uint32_t id = 0; id < fabric_.trunks(); ++id) {
            const Trunk trunk = fabric_.trunk(id);
            if (layer_of(trunk.from) > layer_of(trunk.to)) below_[trunk.from].emplace_back(trunk.to, trunk.cables);
        }
        for (auto& each : below_) std::ranges::sort(each);
    }

    [[nodiscard]] std::size_t layer_of(std::uint32_t router) const {
        std::size_t layer = 0;
        for (const topology::Layer& each : layers_) {
            if (router < each.count) return layer;
            router -= each.count;
            ++layer;
        }
        return layer;
    }

    /// Switches of a layer by those below that they join.
    [[nodiscard]] Row groups(std::uint32_t first, std::uint32_t count) {
        Row row{first, count, std::vector<std::uint32_t>(count, 0), {}};
        std::map<std::vector<std::pair<std::uint32_t, std::uint32_t>>, std::size_t> known;
        std::vector<std::size_t> group(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            for (const auto& [lower, cables] : below_[first + i])
                rails_[first + i].insert(rails_[lower].begin(), rails_[lower].end());
            group[i] = known.try_emplace(below_[first + i], known.size()).first->second;
        }
        const bool all = known.size() <= most_groups;
        row.boxes.resize(all ? known.size() : most_groups);
        std::vector<std::set<std::size_t>> groups_of(row.boxes.size());
        std::vector<std::set<std::uint32_t>> rails(row.boxes.size());
        std::vector<std::uint32_t> sizes(row.boxes.size());
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::size_t box = std::min(group[i], row.boxes.size() - 1);
            row.box[i] = static_cast<std::uint32_t>(box);
            groups_of[box].insert(group[i]);
            rails[box].insert(rails_[first + i].begin(), rails_[first + i].end());
            ++sizes[box];
        }
        for (std::size_t box = 0; box < row.boxes.size(); ++box)
            row.boxes[box] = {{"count", groups_of[box].size()}, {"switches", sizes[box]}, {"rails", rails[box]}};
        return row;
    }

    /// Fills in what each box of a row is cabled to below: boxes of the row below, or units.
    void count_cables(std::size_t at) {
        Row& row = rows_[at];
        const Row& lower = at == 0 ? leaves_ : rows_[at - 1];
        std::vector<std::map<std::uint32_t, std::uint64_t>> cables(row.boxes.size());
        for (std::uint32_t i = 0; i < row.count; ++i)
            for (const auto& [below, number] : below_[row.first + i])
                if (below >= lower.first && below < lower.first + lower.count)
                    cables[row.box[i]][lower.box[below - lower.first]] += number;
        for (std::size_t box = 0; box < row.boxes.size(); ++box) {
            Json list = Json::array();
            for (const auto& [below, number] : cables[box]) list.push_back({below, number});
            row.boxes[box]["below"] = std::move(list);
        }
    }

    /// Cables between switches of one layer.
    [[nodiscard]] std::uint64_t beside(const Row& row) const {
        std::uint64_t cables = 0;
        for (std::uint32_t id = 0; id < fabric_.trunks(); ++id) {
            const Trunk trunk = fabric_.trunk(id);
            const auto within = [&](std::uint32_t router) {
                return router >= row.first && router < row.first + row.count;
            };
            if (trunk.from < trunk.to && within(trunk.from) && within(trunk.to)) cables += trunk.cables;
        }
        return cables;
    }

    [[nodiscard]] Json node() const {
        const topology::NodePlan& plan = cluster_.plan_of(0);
        std::map<topology::VertexKind, std::uint32_t> kinds;
        for (const topology::VertexKind kind : plan.vertices()) ++kinds[kind];
        Json parts = Json::array();
        for (const auto& [kind, count] : kinds) parts.push_back({{"name", name(kind)}, {"count", count}});
        return {{"gpus", cluster_.gpus_per_node()},
                {"gpu", cluster_.gpu().name},
                {"nics", cluster_.nics_per_node()},
                {"parts", std::move(parts)},
                {"gpu_bytes_per_second", cluster_.intra_node_bytes_per_second()},
                {"nic_bytes_per_second", cluster_.nic_bytes_per_second()}};
    }

    /// The first unit, switch by switch.
    [[nodiscard]] Json opened() const {
        Json switches = Json::array();
        const std::size_t shown = std::min(opened_.size(), most_switches);
        for (std::size_t i = 0; i < shown; ++i)
            switches.push_back(
                {{"rails", rails_[opened_[i]]}, {"up", up(opened_[i])}, {"beside", neighbours(opened_[i])}});
        return {{"nodes", leaves_.boxes.front()["nodes"]},
                {"switches", std::move(switches)},
                {"left_out", opened_.size() - shown}};
    }

    [[nodiscard]] Json up(std::uint32_t router) const {
        std::map<std::uint32_t, std::uint64_t> cables;
        if (!rows_.empty())
            for (std::uint32_t i = 0; i < rows_.front().count; ++i)
                for (const auto& [below, number] : below_[rows_.front().first + i])
                    if (below == router) cables[rows_.front().box[i]] += number;
        Json list = Json::array();
        for (const auto& [box, number] : cables) list.push_back({box, number});
        return list;
    }

    /// Routers of its own layer that it is joined to, by their kind of link.
    [[nodiscard]] Json neighbours(std::uint32_t router) const {
        std::map<std::tuple<double, std::uint32_t, double>, std::uint32_t> kinds;  // metres, cables, rate
        for (std::uint32_t id = 0; id < fabric_.trunks(); ++id) {
            const Trunk trunk = fabric_.trunk(id);
            if (trunk.from != router || layer_of(trunk.to) != layer_of(router) || trunk.to == router) continue;
            const double rate = fabric_.link(fabric_.port_links() + id).bytes_per_second;
            ++kinds[{trunk.metres, trunk.cables, rate / trunk.cables}];
        }
        Json list = Json::array();
        for (const auto& [kind, count] : kinds)
            list.push_back({{"neighbours", count},
                            {"cables", std::get<1>(kind)},
                            {"metres", std::get<0>(kind)},
                            {"bytes_per_second", std::get<2>(kind)}});
        return list;
    }

    const Cluster& cluster_;
    const Fabric& fabric_;
    std::vector<topology::Layer> layers_;
    Row leaves_;
    std::vector<Row> rows_;
    Members opened_;
    std::vector<std::set<std::uint32_t>> rails_;                               ///< NICs below each router
    std::vector<std::vector<std::pair<std::uint32_t, std::uint32_t>>> below_;  ///< router, cables
};

}  // namespace

Json cluster_structure(const Cluster& cluster) {
    return cluster.fabric().connected() ? Structure(cluster).json() : Json();
}

}  // namespace orrery::report
