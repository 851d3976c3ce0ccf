#include "topology/dot.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/error.hpp"

namespace orrery::topology {

namespace {

constexpr std::uint32_t most_links = 20'000;

struct Cable {
    std::uint32_t cables = 0;
    double bytes_per_second = 0;
    bool failed = false;
};

class Dot {
public:
    explicit Dot(const Cluster& cluster) : cluster_(cluster), fabric_(cluster.fabric()) {}

    std::string text() {
        out_ =
            fmt::format("graph \"{}\" {{\n  graph [ranksep=2, splines=line];\n  node [shape=box];\n", cluster_.name());
        nodes();
        if (!fabric_.parts().on_chip) routers();
        cables();
        return out_ + "}\n";
    }

private:
    void nodes() {
        out_ += "  { rank=max;\n";
        for (std::uint32_t node = 0; node < cluster_.nodes(); ++node) {
            const std::string& gpu = cluster_.gpu_of(node * cluster_.gpus_per_node()).name;
            out_ += fmt::format("    n{} [label=\"node {}\\n{} x {}\"];\n", node, node, cluster_.gpus_per_node(), gpu);
        }
        out_ += "  }\n";
    }
    void routers() {
        std::uint32_t router = 0;
        for (const Layer& layer : fabric_.layers()) {
            out_ += "  { rank=same;\n";
            for (std::uint32_t i = 0; i < layer.count; ++i) {
                out_ += fmt::format("    r{} [label=\"{} {}\", shape=ellipse];\n", router++, name(layer.kind), i);
            }
            out_ += "  }\n";
        }
    }
    [[nodiscard]] std::string vertex(std::uint32_t end) const {
        if (end >= fabric_.ports()) return fmt::format("r{}", end - fabric_.ports());
        return fmt::format("n{}", end / fabric_.parts().nics_per_node);
    }
    void cables() {
        std::map<std::pair<std::string, std::string>, Cable> edges;
        for (std::uint32_t id = 0; id < fabric_.links(); ++id) {
            const Fabric::Ends ends = fabric_.ends(id);
            if (ends.from > ends.to) continue;
            const Link link = fabric_.link(id);
            Cable& edge = edges[{vertex(ends.from), vertex(ends.to)}];
            edge.cables += link.cables;
            edge.bytes_per_second = link.bytes_per_second / link.cables;
            const std::uint32_t one[] = {id};
            edge.failed |= cluster_.failures() != nullptr && cluster_.failures()->blocks(one);
        }
        for (const auto& [ends, edge] : edges) {
            out_ += fmt::format("  {} -- {} [label=\"{} x {:g} Gb/s\"{}];\n", ends.first, ends.second, edge.cables,
                                edge.bytes_per_second * 8e-9, edge.failed ? ", style=dashed, color=red" : "");
        }
    }

    const Cluster& cluster_;
    const Fabric& fabric_;
    std::string out_;
};

}  // namespace

std::string to_dot(const Cluster& cluster) {
    if (cluster.fabric().links() > most_links) {
        throw Error("", "/cluster/nodes",
                    fmt::format("{} links are too many to draw one by one", cluster.fabric().links()),
                    "ask for fewer nodes, as in --set cluster.nodes=32, or for --svg, which draws a part");
    }
    return Dot(cluster).text();
}

}  // namespace orrery::topology
