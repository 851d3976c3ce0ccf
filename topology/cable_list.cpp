#include "topology/cable_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <queue>
#include <sstream>
#include <utility>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "topology/max_flow.hpp"
#include "topology/xml_file.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

constexpr std::uint32_t nothing = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t most_switches = 2048, most_ports = 65536;
constexpr std::size_t most_bytes = 64U << 20;
constexpr double usual_seconds = nic_cable_metres * cable_seconds_per_metre + switch_hdr.seconds;

/// Both directions.
struct Cable {
    std::uint32_t from = 0, to = 0;  ///< switches; of a NIC's cable only `to`
    double bytes_per_second = 0, seconds = 0;
    std::uint32_t cables = 0;
};

/// From the first half of the ports to the others, in bytes per second, counted in kB/s.
double max_flow(const std::vector<Cable>& trunks, const std::vector<Cable>& ports, std::uint32_t switches,
                std::uint32_t half_ports) {
    MaxFlow net(switches + 2);
    const auto whole = [](const Cable& cable) { return static_cast<std::int64_t>(cable.bytes_per_second / 1e3); };
    const std::uint32_t source = switches, sink = switches + 1;
    for (std::uint32_t p = 0; p < ports.size(); ++p) {
        p < half_ports ? net.join(source, ports[p].to, whole(ports[p]), 0)
                       : net.join(ports[p].to, sink, whole(ports[p]), 0);
    }
    for (const Cable& c : trunks) net.join(c.from, c.to, whole(c), whole(c));
    return static_cast<double>(net.run(source, sink)) * 1e3;
}

/// Trunk 2k goes from cable k's first switch to its second, 2k + 1 back.
class CableList final : public Fabric {
public:
    CableList(const FabricParts& parts, std::vector<Cable> nics, std::vector<Cable> between, std::uint32_t switches)
        : Fabric(parts), ports_(std::move(nics)), trunks_(std::move(between)), switches_(switches) {
        next_.assign(std::size_t{switches_} * switches_, nothing);
        std::vector<std::vector<std::uint32_t>> into(switches_);
        for (std::uint32_t id = 0; id < CableList::trunks(); ++id) into[CableList::trunk(id).to].push_back(id);
        for (std::uint32_t to = 0; to < switches_; ++to) plan_ways(to, into);
    }

    [[nodiscard]] std::string describe() const override {
        return fmt::format("{} switches and {} cables between them, from a file", switches_, trunks_.size());
    }
    [[nodiscard]] std::vector<Layer> layers() const override { return {{VertexKind::router, switches_}}; }
    [[nodiscard]] Link link(std::uint32_t id) const override {
        const bool nic = id < port_links();
        const Cable& c = nic ? ports_[id % Fabric::ports()] : trunks_[(id - port_links()) / 2];
        return {nic ? LinkKind::nic : LinkKind::fabric, c.bytes_per_second, c.seconds, c.cables, nic ? 1U : 2U};
    }
    [[nodiscard]] bool reaches(Port a, Port b) const {
        return router_of(a) == router_of(b) || next(router_of(a), router_of(b)) != nothing;
    }
    [[nodiscard]] std::uint32_t paths(Port, Port) const override { return 1; }
    [[nodiscard]] std::uint32_t usual_path(Port, Port) const override { return 0; }
    /// Most traffic (max_flow.hpp) from the first half of the nodes to the rest.
    [[nodiscard]] double bisection_bytes_per_second() const override {
        return max_flow(trunks_, ports_, switches_, nodes() / 2 * parts().nics_per_node);
    }
    [[nodiscard]] std::uint32_t router_of(Port p) const override { return ports_[port(p)].to; }
    [[nodiscard]] std::uint32_t trunks() const override { return 2 * static_cast<std::uint32_t>(trunks_.size()); }
    [[nodiscard]] Trunk trunk(std::uint32_t id) const override {
        const Cable& c = trunks_[id / 2];
        return id % 2 == 0 ? Trunk{c.from, c.to, c.cables} : Trunk{c.to, c.from, c.cables};
    }

protected:
    void route_trunks(Port from, Port to, std::uint32_t, std::uint32_t first,
                      std::vector<std::uint32_t>& out) const override {
        const std::uint32_t end = router_of(to);
        for (std::uint32_t at = router_of(from); at != end;) {
            const std::uint32_t id = next(at, end);
            out.push_back(first + id);
            at = trunk(id).to;
        }
    }

private:
    [[nodiscard]] std::uint32_t next(std::uint32_t from, std::uint32_t to) const {
        return next_[std::size_t{to} * switches_ + from];
    }

    /// Dijkstra from the destination backwards: fewest links, then the least seconds a byte.
    void plan_ways(std::uint32_t to, const std::vector<std::vector<std::uint32_t>>& into) {
        using Cost = std::pair<std::uint32_t, double>;
        std::vector<Cost> best(switches_, {nothing, 0});
        std::priority_queue<std::pair<Cost, std::uint32_t>, std::vector<std::pair<Cost, std::uint32_t>>, std::greater<>>
            open;
        best[to] = {0, 0};
        open.push({best[to], to});
        while (!open.empty()) {
            const auto [cost, at] = open.top();
            open.pop();
            if (cost > best[at]) continue;
            for (const std::uint32_t id : into[at]) {
                const std::uint32_t from = trunk(id).from;
                const Cost through{cost.first + 1, cost.second + 1 / trunks_[id / 2].bytes_per_second};
                if (through >= best[from]) continue;
                best[from] = through;
                next_[std::size_t{to} * switches_ + from] = id;
                open.push({through, from});
            }
        }
    }

    std::vector<Cable> ports_, trunks_;
    std::uint32_t switches_;
    std::vector<std::uint32_t> next_;  // [destination][switch] -> trunk to take
};

class Parser {
public:
    Parser(const std::string& file, const FabricParts& parts) : file_(file), parts_(parts) {}

    std::shared_ptr<const Fabric> parse(const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            ++line_;
            line = trimmed(line.substr(0, line.find('#')));
            if (!line.empty()) read(line);
        }
        return finish();
    }

private:
    [[noreturn]] void fail(const std::string& what, const std::string& hint) const {
        throw Error(file_, line_ == 0 ? "" : fmt::format("line {}", line_), what, hint);
    }

    /// "node3" or "node3.1"; nothing for a switch.
    [[nodiscard]] std::uint32_t port_of(const std::string& name) {
        if (!name.starts_with("node") || name.size() == 4) return nothing;
        Port p;
        const char *at = name.data() + 4, *const end = name.data() + name.size();
        auto result = std::from_chars(at, end, p.node);
        if (result.ec == std::errc{} && result.ptr != end && *result.ptr == '.') {
            result = std::from_chars(result.ptr + 1, end, p.nic);
        }
        if (result.ec != std::errc{} || result.ptr != end) return nothing;
        if (p.nic >= parts_.nics_per_node || p.node >= most_ports / parts_.nics_per_node) {
            fail(fmt::format("there is no place for {}", name),
                 fmt::format(
                     "nodes have {} NICs, numbered from 0, and there are at most {} ports; nics_per_node changes it",
                     parts_.nics_per_node, most_ports));
        }
        nodes_ = std::max(nodes_, p.node + 1);
        return p.node * parts_.nics_per_node + p.nic;
    }

    std::uint32_t switch_of(const std::string& name) {
        const auto [at, fresh] = switches_.try_emplace(name, static_cast<std::uint32_t>(switches_.size()));
        if (fresh && switches_.size() > most_switches)
            fail("too many switches", fmt::format("at most {}", most_switches));
        return at->second;
    }

    void read(const std::string& line) {
        std::vector<std::string> cells;
        std::istringstream stream(line);
        for (std::string cell; std::getline(stream, cell, ',');) cells.emplace_back(trimmed(cell));
        const char* const form = "write it like \"node0, leaf0, 200 Gb/s, 155 ns\"";
        if (cells.size() < 3 || cells.size() > 4 || cells[0].empty() || cells[1].empty()) {
            fail(fmt::format("\"{}\" is no cable", line.substr(0, 80)), form);
        }
        Cable cable{.seconds = usual_seconds, .cables = 1};
        try {
            cable.bytes_per_second = parse_bytes_per_second(cells[2]);
            if (cells.size() == 4) cable.seconds = parse_seconds(cells[3]);
        } catch (const Error& error) {
            fail(error.message(), form);
        }
        const std::uint32_t a = port_of(cells[0]), b = port_of(cells[1]);
        if ((a != nothing && b != nothing) || cells[0] == cells[1]) {
            fail(fmt::format("{} is cabled to {}", cells[0], cells[1]),
                 "a cable joins a node and a switch, or two switches");
        }
        if (a == nothing && b == nothing) return add_trunk(switch_of(cells[0]), switch_of(cells[1]), cable);
        const std::uint32_t port = a == nothing ? b : a;
        cable.to = switch_of(a == nothing ? cells[0] : cells[1]);
        if (!ports_.try_emplace(port, cable).second) {
            fail(fmt::format("{} has two cables", a == nothing ? cells[1] : cells[0]),
                 "give its second NIC a name of its own: node0.0, node0.1");
        }
    }

    void add_trunk(std::uint32_t from, std::uint32_t to, Cable cable) {
        Cable& known = trunks_[{std::min(from, to), std::max(from, to)}];
        cable.from = std::min(from, to), cable.to = std::max(from, to);
        cable.cables += known.cables;
        cable.bytes_per_second += known.bytes_per_second;
        known = cable;
    }

    std::shared_ptr<const Fabric> finish() {
        line_ = 0;
        if (nodes_ < 2) fail(fmt::format("{} nodes are in the list", nodes_), "name nodes node0, node1, ...");
        if (parts_.nodes != 0 && parts_.nodes != nodes_) {
            fail(fmt::format("{} nodes are in the list, not {}", nodes_, parts_.nodes),
                 "leave nodes out of the scenario");
        }
        parts_.nodes = nodes_;
        std::vector<Cable> ports, trunks;
        for (std::uint32_t p = 0; p < nodes_ * parts_.nics_per_node; ++p) {
            const auto at = ports_.find(p);
            if (at == ports_.end()) {
                fail(fmt::format("NIC {} of node{} has no cable", p % parts_.nics_per_node, p / parts_.nics_per_node),
                     fmt::format("add one, or set nics_per_node (now {})", parts_.nics_per_node));
            }
            ports.push_back(at->second);
        }
        for (const auto& [ends, cable] : trunks_) trunks.push_back(cable);
        parts_.nic_bytes_per_second = ports.front().bytes_per_second;
        parts_.fabric_switch = {"switch of a file", 0, 0};
        auto fabric = std::make_shared<CableList>(parts_, ports, trunks, static_cast<std::uint32_t>(switches_.size()));
        for (std::uint32_t p = 1; p < ports.size(); ++p) {
            const Port port{p / parts_.nics_per_node, p % parts_.nics_per_node};
            if (!fabric->reaches({0, 0}, port)) {
                fail(fmt::format("no way leads from node0 to NIC {} of node{}", port.nic, port.node),
                     "add cables between the switches");
            }
        }
        return fabric;
    }

    const std::string& file_;
    FabricParts parts_;
    std::size_t line_ = 0;
    std::uint32_t nodes_ = 0;
    std::map<std::string, std::uint32_t> switches_;
    std::map<std::uint32_t, Cable> ports_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Cable> trunks_;
};

}  // namespace

std::shared_ptr<const Fabric> parse_cable_list(const std::string& text, const std::string& file, FabricParts parts) {
    return Parser(file, parts).parse(text);
}

std::shared_ptr<const Fabric> read_cable_list(const std::string& file, FabricParts parts) {
    return parse_cable_list(read_file(file, "name a list of cables; join parallel ones into one", most_bytes), file,
                            parts);
}

}  // namespace orrery::topology
