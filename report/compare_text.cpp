#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/table.hpp"
#include "base/units.hpp"
#include "report/compare.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

std::string milliseconds(double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); }

std::string categories_table(const Comparison& c) {
    Table table({{"ms", Table::Align::left}, {"predicted"}, {"measured"}, {"error"}, {"of step"}});
    const auto row = [&](const Pair& pair) {
        table.row({pair.name, milliseconds(pair.predicted), milliseconds(pair.measured),
                   pair.measured > 0 ? format_relative(pair.error()) : "",
                   format_relative(pair.difference() / c.step.measured)});
    };
    for (const Pair& pair : c.categories)
        if (std::max(std::abs(pair.predicted), std::abs(pair.measured)) > 0.0005 * c.step.measured) row(pair);
    table.rule();
    row(c.step);
    return table.to_text();
}

std::string groups_table(const Comparison& c, std::size_t rows) {
    Table table({{"operations of a rank", Table::Align::left},
                 {"kind", Table::Align::left},
                 {"count"},
                 {"predicted ms"},
                 {"measured ms"},
                 {"error"},
                 {"of step"},
                 {"median op"},
                 {"spread"}});
    for (std::size_t i = 0; i < std::min(rows, c.groups.size()); ++i) {
        const OpGroup& g = c.groups[i];
        table.row({g.seconds.name, g.kind, fmt::format("{:g}", g.count), milliseconds(g.seconds.predicted),
                   milliseconds(g.seconds.measured), g.seconds.measured > 0 ? format_relative(g.seconds.error()) : "",
                   format_relative(g.seconds.difference() / c.step.measured),
                   fmt::format("{:.1f}%", 100 * g.median_error), fmt::format("{:.1f}%", 100 * g.spread)});
    }
    return table.to_text();
}

std::string memory_line(const Comparison& c) {
    std::string text = "peak memory";
    for (const Pair& pair : c.memory)
        text += fmt::format("   {}: predicted {}, measured {} ({})", pair.name, format_bytes(pair.predicted),
                            format_bytes(pair.measured), format_relative(pair.error()));
    return text + '\n';
}

/// The first few keys.
std::string differences_line(const std::vector<ChangedKey>& keys) {
    constexpr std::size_t most = 4;
    std::vector<std::string> list;
    for (std::size_t i = 0; i < std::min(most, keys.size()); ++i)
        list.push_back(fmt::format("{} ({} predicted, {} measured)", keys[i].pointer, keys[i].before, keys[i].after));
    if (keys.size() > most) list.push_back(fmt::format("and {} more", keys.size() - most));
    return fmt::format("what was measured is not what was predicted: {}\n", fmt::join(list, ", "));
}

Json json_of(const Pair& pair) {
    return {{"name", pair.name}, {"predicted", pair.predicted}, {"measured", pair.measured}, {"error", pair.error()}};
}

}  // namespace

std::string to_text(const Comparison& c, Style style, std::size_t rows) {
    const std::string headline = fmt::format("step predicted {}, measured {}: {}", format_seconds(c.step.predicted),
                                             format_seconds(c.step.measured), format_relative(c.step.error()));
    std::string text = paint(style, Ink::bold, headline);
    if (c.step_spread > 0) text += fmt::format("   (measured within +-{:.1f}%)", 100 * c.step_spread);
    if (!c.differs.empty()) text += '\n' + differences_line(c.differs);
    text += "\n\n" + categories_table(c) + '\n';
    if (!c.memory.empty()) text += memory_line(c);
    if (c.groups.empty())
        return text + "\noperations are not compared: predict with simulate --operations, to have them in both files\n";
    if (c.traced)
        text += fmt::format("{} kinds of work of the traced rank, median error {:.1f}%; those that explain most:\n\n",
                            c.groups.size(), 100 * c.median_op_error);
    else
        text += fmt::format(
            "\n{} operations joined on (rank, operation), median error {:.1f}%; those that explain most:\n\n", c.joined,
            100 * c.median_op_error);
    return text + groups_table(c, rows);
}

Json to_json(const Comparison& c) {
    Json categories = Json::array(), groups = Json::array(), memory = Json::array(), differs = Json::array();
    for (const Pair& pair : c.categories) categories.push_back(json_of(pair));
    for (const Pair& pair : c.memory) memory.push_back(json_of(pair));
    for (const OpGroup& group : c.groups) {
        Json one = json_of(group.seconds);
        one.update(Json{{"kind", group.kind},
                        {"count", group.count},
                        {"median_error", group.median_error},
                        {"spread", group.spread}});
        groups.push_back(std::move(one));
    }
    for (const ChangedKey& key : c.differs)
        differs.push_back({{"key", key.pointer}, {"predicted", key.before}, {"measured", key.after}});
    return {{"step", json_of(c.step)}, {"step_spread", c.step_spread}, {"categories", categories},
            {"memory_bytes", memory},  {"joined", c.joined},           {"median_op_error", c.median_op_error},
            {"operations", groups},    {"differs", differs}};
}

Records records(const Comparison& c) {
    Records all({{"part"}, {"name"}, {"kind"}, {"count"}, {"predicted"}, {"measured"}, {"error"}});
    const auto add = [&](const char* part, const Pair& pair, const Value& kind = {}, const Value& count = {}) {
        all.row({part, pair.name, kind, count, pair.predicted, pair.measured,
                 pair.measured > 0 ? Value(pair.error()) : Value()});
    };
    add("step", c.step);
    for (const Pair& pair : c.categories) add("category", pair);
    for (const Pair& pair : c.memory) add("memory", pair);
    for (const OpGroup& group : c.groups) add("operation", group.seconds, group.kind, group.count);
    return all;
}

}  // namespace orrery::report
