#include "validate/executed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/markup.hpp"
#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/units.hpp"
#include "run/measured.hpp"

namespace orrery::validate {

namespace {

using Json = nlohmann::ordered_json;

/// Plans whose measured steps differ by less are ties.
constexpr double tie = 0.03;

constexpr double size = 480, margin = 60;

/// Seconds to a place along an axis of the plot.
class Scale {
public:
    explicit Scale(const std::vector<ExecutedRow>& rows) {
        double least = rows.front().measured, most = least;
        for (const ExecutedRow& row : rows)
            for (const double value : {row.measured, row.predicted - row.half_width, row.predicted + row.half_width}) {
                if (value > 0) least = std::min(least, value);
                most = std::max(most, value);
            }
        low_ = std::log10(least / 1.2);
        high_ = std::log10(most * 1.2);
    }
    [[nodiscard]] double operator()(double seconds) const {
        const double share = (std::log10(std::max(seconds, 1e-12)) - low_) / (high_ - low_);
        return margin + std::clamp(share, 0.0, 1.0) * (size - 2 * margin);
    }
    /// 1, 2 and 5 times powers of ten within the range.
    [[nodiscard]] std::vector<double> ticks() const {
        std::vector<double> list;
        for (int power = static_cast<int>(std::floor(low_)); power <= static_cast<int>(std::ceil(high_)); ++power)
            for (const double factor : {1.0, 2.0, 5.0})
                if (const double log = std::log10(factor) + power; log >= low_ && log <= high_)
                    list.push_back(factor * std::pow(10.0, power));
        return list;
    }

private:
    double low_ = 0, high_ = 1;
};

}  // namespace

bool ExecutedRow::inside() const { return std::abs(predicted - measured) <= half_width; }

ExecutedSummary summary(const std::vector<ExecutedRow>& rows) {
    ExecutedSummary all;
    std::vector<double> errors;
    for (const ExecutedRow& row : rows) {
        errors.push_back(std::abs(row.error()));
        all.worst = std::max(all.worst, errors.back());
        all.inside += row.inside() ? 1.0 / static_cast<double>(rows.size()) : 0;
    }
    all.median = median(errors);
    for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::size_t j = i + 1; j < rows.size(); ++j) {
            const double measured = rows[i].measured / rows[j].measured;
            if (std::abs(measured - 1) <= tie) continue;
            ++all.pairs;
            all.ordered += (measured > 1) == (rows[i].predicted > rows[j].predicted);
        }
    return all;
}

std::string to_text(const std::vector<ExecutedRow>& rows) {
    Table table({{"configuration", Table::Align::left},
                 {"predicted"},
                 {"+-"},
                 {"measured"},
                 {"error"},
                 {"wall"},
                 {"+-"},
                 {"median op"},
                 {"largest difference", Table::Align::left}});
    for (const ExecutedRow& row : rows)
        table.row({row.name, format_seconds(row.predicted),
                   fmt::format("{:.1f}%", 100 * row.half_width / row.predicted), format_seconds(row.measured),
                   format_relative(row.error()), format_seconds(row.wall),
                   fmt::format("{:.1f}%", 100 * row.spread / row.wall), fmt::format("{:.1f}%", 100 * row.op_error),
                   row.largest});
    const ExecutedSummary all = summary(rows);
    return table.to_text() +
           fmt::format(
               "\n{} configurations: median error {:.1f}%, worst {:.1f}%; {:.0f}% inside the predicted interval; "
               "{} of {} pairs ranked as measured (ties within 3% left out)\n",
               rows.size(), 100 * all.median, 100 * all.worst, 100 * all.inside, all.ordered, all.pairs);
}

Json to_json(const std::vector<ExecutedRow>& rows) {
    Json list = Json::array();
    for (const ExecutedRow& row : rows)
        list.push_back({{"name", row.name},
                        {"predicted_s", row.predicted},
                        {"half_width_s", row.half_width},
                        {"measured_s", row.measured},
                        {"wall_s", row.wall},
                        {"wall_spread_s", row.spread},
                        {"error", row.error()},
                        {"median_op_error", row.op_error},
                        {"largest_difference", row.largest}});
    const ExecutedSummary all = summary(rows);
    return {{"rows", list},         {"median_error", all.median}, {"worst_error", all.worst},
            {"inside", all.inside}, {"pairs", all.pairs},         {"ordered", all.ordered}};
}

std::string to_svg(const std::vector<ExecutedRow>& rows) {
    const Scale at(rows);
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {0}\" font-family=\"sans-serif\" "
        "font-size=\"11\">\n<rect width=\"{0}\" height=\"{0}\" fill=\"white\"/>\n",
        size);
    const auto line = [&](double x1, double y1, double x2, double y2, const char* color) {
        text += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1,
                            size - y1, x2, size - y2, color);
    };
    const auto word = [&](double x, double y, const char* anchor, const std::string& what) {
        text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, size - y, anchor,
                            escaped_markup(what));
    };
    for (const double tick : at.ticks()) {
        line(at(tick), margin, at(tick), size - margin, "#e0e0e0");
        line(margin, at(tick), size - margin, at(tick), "#e0e0e0");
        word(at(tick), margin - 16, "middle", format_seconds(tick));
        word(margin - 6, at(tick) - 4, "end", format_seconds(tick));
    }
    line(margin, margin, size - margin, size - margin, "#808080");
    word(size / 2, margin - 40, "middle", "measured");
    word(margin, size - margin + 12, "middle", "predicted");
    for (const ExecutedRow& row : rows) {
        line(at(row.measured), at(row.predicted - row.half_width), at(row.measured), at(row.predicted + row.half_width),
             "#1f77b4");
        text += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"#1f77b4\"><title>{}: {}</title></circle>\n",
            at(row.measured), size - at(row.predicted), escaped_markup(row.name), format_relative(row.error()));
    }
    return text + "</svg>\n";
}

}  // namespace orrery::validate
