// The drawing of a cluster. Colours and shapes are few: boxes for nodes, rounded boxes for switches, red for failures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <vector>

#include "report/topology.hpp"

namespace orrery::report {

namespace {

using topology::Cluster;
using topology::Fabric;
using topology::Layer;

constexpr std::uint32_t most_in_row = 16, most_in_ring = 48;
constexpr double width = 1200, row_height = 170, box_width = 62, box_height = 34;

std::string plural(const std::string& kind, std::uint32_t count) {
    return count == 1 ? kind : kind == "leaf" ? "leaves" : kind + 's';
}

struct Box {
    double x = 0, y = 0;
    std::string label;
    bool is_switch = false;
};
struct Line {
    std::uint32_t cables = 0;
    double bytes_per_second = 0;
    bool failed = false;
};

/// Evenly spaced members of a list, at most `most`, the first and the last among them.
std::vector<std::uint32_t> thinned(const std::vector<std::uint32_t>& all, std::uint32_t most) {
    if (all.size() <= most) return all;
    std::vector<std::uint32_t> some;
    for (std::uint32_t i = 0; i < most; ++i) some.push_back(all[i * (all.size() - 1) / (most - 1)]);
    return some;
}

/// Vertices here: nodes first, then routers (for chips: the nodes alone).
class Drawing {
public:
    explicit Drawing(const Cluster& cluster) : cluster_(cluster), fabric_(cluster.fabric()) {
        const bool flat = fabric_.parts().on_chip || (fabric_.layers().size() == 1 && fabric_.trunks() > 0);
        flat ? ring() : rows();
        if (cluster_.failures() != nullptr) {
            note(height_ - 30, fmt::format("{} failed links, red where they are drawn (directions counted singly)",
                                           cluster_.failures()->failed_links()));
        }
        connect();
    }

    std::string text() const {
        std::string out = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
            "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
            "<text x=\"20\" y=\"26\" font-size=\"16\">{2}: {3} GPUs, {4}</text>\n",
            width, height_, cluster_.name(), cluster_.gpus(), fabric_.describe());
        for (const auto& [ends, line] : lines_) out += line_text(boxes_.at(ends.first), boxes_.at(ends.second), line);
        for (const auto& [vertex, box] : boxes_) out += box_text(box);
        return out + notes_ + "</svg>\n";
    }

private:
    [[nodiscard]] std::uint32_t vertex(std::uint32_t end) const {
        return end < fabric_.ports() ? end / fabric_.parts().nics_per_node : cluster_.nodes() + end - fabric_.ports();
    }

    void note(double y, const std::string& text) {
        notes_ += fmt::format("<text x=\"20\" y=\"{:.1f}\" fill=\"#555\">{}</text>\n", y, text);
    }

    void place(const std::vector<std::uint32_t>& row, double y, const std::string& kind, std::uint32_t first) {
        const double step = (width - 160) / static_cast<double>(std::max<std::size_t>(row.size(), 1));
        for (std::size_t i = 0; i < row.size(); ++i) {
            boxes_[row[i]] = {140 + step * (static_cast<double>(i) + 0.5), y,
                              fmt::format("{} {}", kind, row[i] - first), kind != "node"};
        }
    }

    /// Nodes below; of each layer above the routers that what is drawn below is cabled to.
    void rows() {
        const auto layers = fabric_.layers();
        height_ = 100 + row_height * static_cast<double>(layers.size() + 1) - 60;
        std::vector<std::uint32_t> row(cluster_.nodes());
        std::iota(row.begin(), row.end(), 0U);
        row = thinned(row, most_in_row);
        double y = height_ - 60;
        note(y - 8, fmt::format("{} nodes", cluster_.nodes()));
        note(y + 8, fmt::format("of {} {}", cluster_.gpus_per_node(), cluster_.gpu().name));
        place(row, y, "node", 0);
        std::uint32_t first = cluster_.nodes();
        for (const Layer& layer : layers) {
            y -= row_height;
            const std::string kind(name(layer.kind));
            row = thinned(neighbours(row, first, layer.count), most_in_row);
            note(y + 4, fmt::format("{} {}", layer.count, plural(kind, layer.count)));
            place(row, y, kind, first);
            first += layer.count;
        }
        if (boxes_.size() < first) note(height_ - 14, "a part is drawn: evenly spaced nodes and switches above them");
    }

    /// Routers of a layer that have a link from one of these vertices, ascending.
    [[nodiscard]] std::vector<std::uint32_t> neighbours(const std::vector<std::uint32_t>& below, std::uint32_t first,
                                                        std::uint32_t count) const {
        std::vector<bool> met(count, false);
        for (std::uint32_t id = 0; id < fabric_.links(); ++id) {
            const std::uint32_t from = vertex(fabric_.ends(id).from), to = vertex(fabric_.ends(id).to);
            if (to < first || to >= first + count) continue;
            if (std::ranges::binary_search(below, from)) met[to - first] = true;
        }
        std::vector<std::uint32_t> all;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (met[i]) all.push_back(first + i);
        }
        return all;
    }

    void ring() {
        height_ = 900;
        const bool chips = fabric_.parts().on_chip;
        const std::uint32_t first = chips ? 0 : cluster_.nodes(), count = fabric_.routers();
        const std::uint32_t shown = std::min(count, most_in_ring);
        for (std::uint32_t i = 0; i < shown; ++i) {
            const double angle = 2 * std::numbers::pi * i / shown;
            boxes_[first + i] = {width / 2 + 500 * std::sin(angle), 475 - 390 * std::cos(angle),
                                 fmt::format("{} {}", chips ? "chip" : "router", i), true};
        }
        if (!chips) {
            note(50, fmt::format("{} routers, {} nodes with {} NICs each", count, cluster_.nodes(),
                                 cluster_.nics_per_node()));
        }
        if (shown < count) note(height_ - 14, fmt::format("a part is drawn: the first {} of {}", shown, count));
    }

    void connect() {
        for (std::uint32_t id = 0; id < fabric_.links(); ++id) {
            const Fabric::Ends ends = fabric_.ends(id);
            const std::uint32_t from = vertex(ends.from), to = vertex(ends.to);
            if (from > to || !boxes_.contains(from) || !boxes_.contains(to)) continue;
            const topology::Link link = fabric_.link(id);
            Line& line = lines_[{from, to}];
            line.cables += link.cables;
            line.bytes_per_second = link.bytes_per_second / link.cables;
            const std::uint32_t one[] = {id};
            line.failed |= cluster_.failures() != nullptr && cluster_.failures()->blocks(one);
        }
    }

    static std::string line_text(const Box& a, const Box& b, const Line& line) {
        return fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:.1f}\"{}>"
            "<title>{} x {:g} Gb/s</title></line>\n",
            a.x, a.y, b.x, b.y, line.failed ? "#c22" : "#7a9cc6", 0.8 + 0.5 * std::sqrt(line.cables),
            line.failed ? " stroke-dasharray=\"5 4\"" : "", line.cables, line.bytes_per_second * 8e-9);
    }

    static std::string box_text(const Box& box) {
        return fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"{}\" fill=\"{}\" "
            "stroke=\"#345\"/>\n<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
            box.x - box_width / 2, box.y - box_height / 2, box_width, box_height, box.is_switch ? 12 : 2,
            box.is_switch ? "#dbe9f6" : "#eef3e2", box.x, box.y + 4, box.label);
    }

    const Cluster& cluster_;
    const Fabric& fabric_;
    std::map<std::uint32_t, Box> boxes_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, Line> lines_;
    std::string notes_;
    double height_ = 0;
};

}  // namespace

std::string topology_svg(const Cluster& cluster) { return Drawing(cluster).text(); }

}  // namespace orrery::report
