// The drawing of a cluster: how it is built, not each of its cables. What is alike is drawn once and counted: a unit of
// nodes is opened, the others are boxes with their number, and above them stand the groups of switches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/markup.hpp"
#include "report/cable_runs.hpp"
#include "report/html/cluster_structure.hpp"
#include "report/topology.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using topology::Cluster;

constexpr double width = 1240, left = 150, right = width - 20, row_height = 120, box_height = 46;
constexpr const char *ink = "#345", *quiet = "#5a6672", *red = "#c22";
/// One colour a rail.
constexpr std::array<const char*, 8> rail_colours{"#4269d0", "#b8860b", "#d1495b", "#2a9d8f",
                                                  "#3ca951", "#c2569b", "#7b4fd0", "#5f7f9f"};

struct Point {
    double x = 0, y = 0;
};

std::string plural(const std::string& kind, std::uint64_t count) {
    if (count == 1) return kind;
    return kind == "leaf" ? "leaves" : kind.ends_with("switch") ? kind + "es" : kind + 's';
}
std::string some(std::uint64_t count, const std::string& kind) {
    return fmt::format("{} {}", count, plural(kind, count));
}

/// "rails 0-3", "rail 2", "all rails"; nothing where there is but one.
std::string rails_text(const Json& rails, std::uint64_t all) {
    if (all <= 1 || rails.empty()) return "";
    if (rails.size() == all) return "all rails";
    const auto first = rails.front().get<std::uint64_t>(), last = rails.back().get<std::uint64_t>();
    if (first == last) return fmt::format("rail {}", first);
    if (last - first + 1 == rails.size()) return fmt::format("rails {}-{}", first, last);
    constexpr std::size_t most_listed = 4;
    if (rails.size() > most_listed) return fmt::format("{} of {} NICs", rails.size(), all);
    std::string text = "rails";
    for (const Json& rail : rails) text += fmt::format("{}{}", text == "rails" ? " " : ", ", rail.get<std::uint64_t>());
    return text;
}

const char* colour_of(const Json& rails) {
    return rails.size() == 1 ? rail_colours[rails.front().get<std::size_t>() % rail_colours.size()] : ink;
}

/// Boxes side by side: middles, and a width that leaves them apart.
struct Spread {
    Spread(std::size_t count, double from, double to, double most)
        : step((to - from) / static_cast<double>(std::max<std::size_t>(count, 1))),
          box(std::min(most, step - 10)),
          begin(from) {}
    [[nodiscard]] double at(std::size_t i) const { return begin + step * (static_cast<double>(i) + 0.5); }
    double step, box, begin;
};

class Drawing {
public:
    explicit Drawing(const Cluster& cluster) : cluster_(cluster), data_(cluster_structure(cluster)) {
        if (data_.is_null()) {
            single_node();
            return;
        }
        runs_ = cable_runs(cluster);
        rows_ = data_["rows"].size();
        const bool flat = rows_ == 0;
        beside_ = data_["opened"]["switches"].empty() ? Json::array() : data_["opened"]["switches"][0]["beside"];
        units_ = 84 + row_height * static_cast<double>(flat ? (beside_.empty() ? 0 : 1) : rows_);
        open_unit();
        other_units();
        flat ? neighbours() : groups();
        captions();
        height_ = units_ + unit_height() + 24;
        failures();
    }

    [[nodiscard]] std::string text() const {
        const auto& fabric = cluster_.fabric();
        std::string out = fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
            "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
            "<text x=\"20\" y=\"28\" font-size=\"16\" font-weight=\"bold\">{2}: {3} GPUs in {4}</text>\n"
            "<text x=\"20\" y=\"48\" fill=\"{5}\">{6}</text>\n",
            width, height_, escaped_markup(cluster_.name()), cluster_.gpus(),
            some(cluster_.nodes(), fabric.parts().on_chip ? "chip" : "node"), quiet, escaped_markup(fabric.describe()));
        return out + lines_ + boxes_ + "</svg>\n";
    }

private:
    [[nodiscard]] bool chips() const { return data_["chips"].get<bool>(); }
    [[nodiscard]] double unit_height() const { return chips() ? 120 : 268; }
    [[nodiscard]] double row_top(std::size_t row) const {
        return units_ - row_height * static_cast<double>(row + 1) + 10;
    }

    void label(Point at, const std::string& text, const char* colour = ink, const char* more = "") {
        if (!text.empty())
            boxes_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" {}>{}</text>\n", at.x, at.y, colour,
                                  more, escaped_markup(text));
    }
    void centred(Point at, const std::string& text, const char* colour = ink) {
        label(at, text, colour, "text-anchor=\"middle\"");
    }
    void box(Point corner, double w, double h, const char* edge = ink, const char* fill = "#f4f7fb",
             const char* more = "") {
        boxes_ += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" fill=\"{}\" stroke=\"{}\" "
            "{}/>\n",
            corner.x, corner.y, w, h, fill, edge, more);
    }
    /// A box that stands for several: those behind it show.
    void stack(Point corner, double w, double h, std::uint64_t number, const char* edge = ink) {
        for (int behind = number > 2 ? 2 : number > 1 ? 1 : 0; behind > 0; --behind)
            box({corner.x + 4 * behind, corner.y - 4 * behind}, w, h, edge);
        box(corner, w, h, edge);
    }
    void line(Point from, Point to, std::uint64_t cables, const char* colour, double opacity = 0.75) {
        const double thick =
            1 + std::min(5.0, 0.7 * std::log2(static_cast<double>(std::max<std::uint64_t>(1, cables))));
        lines_ += fmt::format(
            "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:.1f}\" "
            "opacity=\"{}\"><title>{}</title></line>\n",
            from.x, from.y, to.x, to.y, colour, thick, opacity, some(cables, "cable"));
    }

    /// GPUs and NICs as squares where they are few, all parts in words.
    void node(Point corner, double w, std::uint64_t nodes) {
        const Json parts = node_parts(cluster_);
        const auto gpus = parts["gpus"].get<std::uint64_t>(), nics = parts["nics"].get<std::uint64_t>();
        const double size =
            std::min(18.0, (w - 150) / static_cast<double>(std::max<std::uint64_t>({gpus, nics, 1})) - 4);
        const bool on_chip = cluster_.fabric().connected() && cluster_.fabric().parts().on_chip;
        const bool drawn = size >= 8 && !on_chip;
        stack(corner, w, drawn ? 124 : 76, nodes);
        const std::string what = on_chip ? "a chip" : "a node";
        label({corner.x + 12, corner.y + 20}, nodes > 1 ? fmt::format("{}, one of {}", what, nodes) : what, ink,
              "font-weight=\"bold\"");
        double y = corner.y + 34;
        for (const auto& [name, count] : {std::pair{"NIC", nics}, std::pair{"GPU", gpus}}) {
            if (!drawn || count == 0) continue;
            label({corner.x + 12, y + 13}, some(count, name));
            for (std::uint64_t i = 0; i < count; ++i)
                box({corner.x + 120 + static_cast<double>(i) * (size + 4), y}, size, size, ink,
                    name == std::string("NIC") ? rail_colours[i % rail_colours.size()] : "#dde3ea");
            y += 24;
        }
        const auto words = parts["words"].get<std::vector<std::string>>();
        y = corner.y + (drawn ? 124 : 76) - 10 - 16 * static_cast<double>(words.size() - 1);
        for (std::size_t i = 0; i < words.size(); ++i)
            label({corner.x + 12, y + 16 * static_cast<double>(i)}, words[i], quiet);
    }

    void single_node() {
        height_ = 220;
        node({20, 72}, width - 40, 1);
    }

    void open_unit() {
        const Json& opened = data_["opened"];
        const Json& switches = opened["switches"];
        const auto more = opened["left_out"].get<std::uint64_t>(), nodes = opened["nodes"].get<std::uint64_t>();
        const auto nics = data_["node"]["nics"].get<std::uint64_t>();
        open_width_ = data_["units"].size() > 1 ? 600 : right - left;
        box({left, units_}, open_width_, unit_height(), quiet, "none", "stroke-dasharray=\"6 4\"");
        const Spread spread(switches.size() + (more > 0 ? 1 : 0), left + 12, left + open_width_ - 12, 110);
        const std::string layer = data_["layer"];
        for (std::size_t i = 0; i < switches.size(); ++i) {
            tops_.push_back({spread.at(i), units_ + 16});
            if (chips()) continue;
            const Json& rails = switches[i]["rails"];
            const char* const colour = colour_of(rails);
            box({spread.at(i) - spread.box / 2, units_ + 16}, spread.box, 40, colour);
            const std::string rail = rails.size() == nics ? layer : rails_text(rails, nics);
            centred({spread.at(i), units_ + 41}, spread.box < 48 ? fmt::format("{}", i) : rail);
            line({spread.at(i), units_ + 56}, {spread.at(i), units_ + 124}, nodes * rails.size(), colour);
        }
        if (more > 0) centred({spread.at(switches.size()), units_ + 41}, fmt::format("+ {} more", more));
        if (!chips()) label({left + 12, units_ + 84}, per_node_text(nodes), ink, halo);
        node({left + 16, units_ + (chips() ? 22 : 128)}, open_width_ - 44, nodes);
    }

    [[nodiscard]] std::string per_node_text(std::uint64_t nodes) const {
        const Json& node = data_["node"];
        const std::string nics = fmt::format("{} of {}", some(node["nics"].get<std::uint64_t>(), "NIC"),
                                             rate_text(node["nic_bytes_per_second"].get<double>()));
        return nodes == 1 ? nics : fmt::format("{} nodes, each {}", nodes, nics);
    }

    /// Units that are like each other, a box for all of them.
    void other_units() {
        const Json& units = data_["units"];
        const Spread spread(units.size() - 1, left + open_width_ + 16, right, 190);
        for (std::size_t i = 1; i < units.size(); ++i) {
            const Json& unit = units[i];
            const double x = spread.at(i - 1), y = units_ + 16;
            const auto count = unit["count"].get<std::uint64_t>();
            other_tops_.push_back({x, y});
            stack({x - spread.box / 2, y}, spread.box, 92, count);
            label({x, y + 28}, fmt::format("{} more", some(count, chips() ? "chip" : "unit")), ink,
                  "text-anchor=\"middle\" font-weight=\"bold\"");
            centred({x, y + 48}, unit["nodes"].is_null() ? "of other sizes"
                                 : chips()
                                     ? ""
                                     : some(unit["nodes"].get<std::uint64_t>(), "node") + (count > 1 ? " each" : ""));
            if (!unit["switches"].is_null() && !chips())
                centred({x, y + 66}, some(unit["switches"].get<std::uint64_t>(), data_["layer"]));
        }
    }

    /// Layers above the first.
    void groups() {
        std::vector<std::vector<double>> middles;
        for (std::size_t r = 0; r < rows_; ++r) {
            const Json& row = data_["rows"][r];
            const Spread spread(row["groups"].size(), left, right, 180);
            std::vector<double>& own = middles.emplace_back();
            const bool bus = r > 0 && all_with_all(row["groups"], middles[r - 1].size());
            for (std::size_t i = 0; i < row["groups"].size(); ++i) {
                const Json& group = row["groups"][i];
                const Point bottom{spread.at(i), row_top(r) + box_height};
                own.push_back(bottom.x);
                group_box(group, row["layer"], bottom, spread.box);
                for (const Json& below : group["below"]) {
                    const auto index = below[0].get<std::size_t>();
                    const auto cables = below[1].get<std::uint64_t>();
                    if (bus) continue;
                    if (r > 0)
                        line({middles[r - 1].at(index), row_top(r - 1)}, bottom, cables, colour_of(group["rails"]));
                    else if (index > 0)
                        line(other_tops_.at(index - 1), bottom, cables, colour_of(group["rails"]), 0.5);
                }
            }
            if (bus) draw_bus(r, own, middles[r - 1]);
        }
        const Json& switches = data_["opened"]["switches"];
        for (std::size_t i = 0; i < switches.size(); ++i)
            for (const Json& up : switches[i]["up"])
                line(tops_[i], {middles.front().at(up[0].get<std::size_t>()), row_top(0) + box_height},
                     up[1].get<std::uint64_t>(), colour_of(switches[i]["rails"]));
    }

    /// Too many lines to tell apart, which say no more than this.
    static bool all_with_all(const Json& groups, std::size_t below) {
        constexpr std::size_t most_lines = 24;
        return groups.size() * below > most_lines &&
               std::ranges::all_of(groups, [&](const Json& group) { return group["below"].size() == below; });
    }

    /// One bar that every box above and below is joined to.
    void draw_bus(std::size_t row, const std::vector<double>& above, const std::vector<double>& below) {
        const double y = (row_top(row) + box_height + row_top(row - 1)) / 2;
        for (const double x : above) line({x, row_top(row) + box_height}, {x, y}, 1, ink);
        for (const double x : below) line({x, y}, {x, row_top(row - 1)}, 1, ink);
        const double from = std::min(above.front(), below.front()), to = std::max(above.back(), below.back());
        constexpr std::uint64_t thick = 64;
        line({from, y}, {to, y}, thick, ink);
        label({(from + to) / 2, y - 8}, "each with each", quiet,
              "text-anchor=\"middle\" stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\"");
    }

    void group_box(const Json& group, const std::string& layer, Point bottom, double w) {
        const auto count = group["count"].get<std::uint64_t>(), switches = group["switches"].get<std::uint64_t>();
        stack({bottom.x - w / 2, bottom.y - box_height}, w, box_height, count, colour_of(group["rails"]));
        const bool narrow = w < 90;
        const std::string name = narrow      ? fmt::format("{}{}", count > 1 ? "+" : "", switches)
                                 : count > 1 ? fmt::format("{} groups, {}", count, switches)
                                             : some(switches, layer);
        centred({bottom.x, bottom.y - box_height + 20}, name);
        centred({bottom.x, bottom.y - box_height + 37},
                narrow ? "" : rails_text(group["rails"], data_["node"]["nics"].get<std::uint64_t>()), quiet);
    }

    /// What a router of a fabric without layers is joined to beside it.
    void neighbours() {
        const Spread spread(beside_.size(), left, right, 270);
        const Point top{left + open_width_ / 2, units_};
        for (std::size_t i = 0; i < beside_.size(); ++i) {
            const Json& each = beside_[i];
            const auto number = each["neighbours"].get<std::uint64_t>(), cables = each["cables"].get<std::uint64_t>();
            const char* const colour = rail_colours[i % rail_colours.size()];
            const double metres = each["metres"].get<double>();
            line({spread.at(i), row_top(0) + box_height}, top, number * cables, colour);
            stack({spread.at(i) - spread.box / 2, row_top(0)}, spread.box, box_height, number, colour);
            centred({spread.at(i), row_top(0) + 20},
                    some(number, "neighbour") + (metres > 0 ? fmt::format(" at {:g} m", metres) : ""));
            centred({spread.at(i), row_top(0) + 37},
                    fmt::format("each {}{}", cables > 1 ? fmt::format("{} x ", cables) : "",
                                rate_text(each["bytes_per_second"].get<double>())),
                    quiet);
        }
    }

    /// On the left: how many there are of everything; between the layers their cables and rates.
    void captions() {
        const auto pair = [&](double y, const std::string& bold, const std::string& plain) {
            label({20, y}, bold, ink, "font-weight=\"bold\"");
            label({20, y + 16}, plain);
        };
        const auto first = data_["switches"].get<std::uint64_t>();
        const std::string kind = chips() ? "chip" : data_["layer"].get<std::string>();
        pair(units_ + 36, std::to_string(first), plural(kind, first) + " in all");
        pair(units_ + (chips() ? 84 : 190), chips() ? "a chip" : "a unit", "opened");
        for (std::size_t r = 0; r < rows_; ++r) {
            const Json& row = data_["rows"][r];
            std::uint64_t total = 0;
            for (const Json& group : row["groups"]) total += group["switches"].get<std::uint64_t>();
            pair(row_top(r) + 20, std::to_string(total), plural(row["layer"], total));
            if (r < runs_.between.size()) label({20, row_top(r) + box_height + 38}, runs_.between[r].text(), ink, halo);
            if (const auto beside = row["beside"].get<std::uint64_t>(); beside > 0)
                label({left, row_top(r) - 8}, fmt::format("joined among themselves by {}", some(beside, "cable")),
                      quiet, halo);
        }
    }

    void failures() {
        if (cluster_.failures() == nullptr) return;
        height_ += 24;
        label({20, height_ - 18},
              fmt::format("{} failed links (directions counted singly){}", cluster_.failures()->failed_links(),
                          runs_.failed_text()),
              red, "font-weight=\"bold\"");
    }

    /// Text over lines.
    static constexpr const char* halo = "stroke=\"white\" stroke-width=\"4\" paint-order=\"stroke\"";

    const Cluster& cluster_;
    Json data_, beside_;
    CableRuns runs_;
    std::size_t rows_ = 0;
    double units_ = 0, open_width_ = 0, height_ = 0;
    std::vector<Point> tops_, other_tops_;
    std::string lines_, boxes_;
};

}  // namespace

std::string topology_svg(const Cluster& cluster) { return Drawing(cluster).text(); }

}  // namespace orrery::report
