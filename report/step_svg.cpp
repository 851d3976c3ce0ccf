// Bars narrower than a fraction of a pixel are drawn as one with their neighbours: the file stays small however many
// operations a step has.
#include "report/step_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "base/markup.hpp"
#include "base/units.hpp"
#include "report/passes.hpp"
#include "report/trace_tracks.hpp"

namespace orrery::report {

namespace {

constexpr double width = 1200, left = 150, right = 20, top = 70, row_height = 34, bar_height = 20, strip_height = 6;
constexpr double finest = 0.4;  // pixels below which bars are joined
constexpr double digit = 6;     // pixels
constexpr std::size_t most_rows = 32;

struct Hue {
    std::string_view name, colour, text;
};
/// Those of the HTML report in its light theme (html/web/src/theme.js).
constexpr std::array<Hue, 8> hues{{{"forward", "#4c8bf5", "#ffffff"},
                                   {"recompute", "#9dbdf7", "#1b2430"},
                                   {"backward", "#1a4fa0", "#ffffff"},
                                   {"gradient", "#0f7a86", "#ffffff"},
                                   {"optimizer", "#7d9f46", "#ffffff"},
                                   {"communication", "#e8833a", "#ffffff"},
                                   {"copy", "#8a6fc9", "#ffffff"},
                                   {"host", "#8d99ab", "#ffffff"}}};

std::size_t number_of(std::string_view hue) {
    const auto found = std::ranges::find(hues, hue, &Hue::name);
    return found == hues.end() ? hues.size() - 1 : static_cast<std::size_t>(found - hues.begin());
}

struct Bar {
    double begin = 0, end = 0;  // pixels
    std::size_t hue = 0;
    std::int32_t micro_batch = -1;
};

class Drawing {
public:
    Drawing(const scenarios::Scenario& scenario, const sim::Prediction& p) : p_(p) {
        scale_ = p.step_time_s > 0 ? (width - left - right) / p.step_time_s : 0;
        const std::vector<Track> all = trace_tracks(scenario.perturbations.stragglers, p).shown;
        const std::size_t rows = std::min(all.size(), most_rows);
        bottom_ = top + row_height * static_cast<double>(rows);
        axis();
        for (std::size_t i = 0; i < rows; ++i)
            row(all[rows == all.size() ? i : i * (all.size() - 1) / (rows - 1)],
                top + row_height * static_cast<double>(i));
        const std::string part = rows < all.size() ? fmt::format(", {} of {} rows", rows, all.size()) : "";
        head(scenario.name, fmt::format("step {}; a row for the first GPU of each pipeline stage{}; numbers are "
                                        "micro-batches, white is waiting",
                                        format_seconds(p.step_time_s), part));
        legend();
    }

    [[nodiscard]] std::string text() const {
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
            "height=\"{1:.0f}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#46525f\">\n"
            "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{2}</svg>\n",
            width, bottom_ + 60, body_);
    }

private:
    [[nodiscard]] double x(double seconds) const { return left + scale_ * seconds; }

    /// Bars of some lanes in order of time, those too narrow to be seen joined with the one before.
    template <class Lanes>
    std::vector<Bar> bars(const strategies::Program& program, const Lanes& lanes, std::size_t from, std::size_t to) {
        std::vector<Bar> all, joined;
        for (std::size_t lane = from; lane < to; ++lane)
            for (const Pass& pass : lanes.at(lane)) {
                const strategies::Op& first = program.ops[pass.ops.front()];
                // A pass through layers is its phase, also where a transfer stands in it.
                const bool several = pass.ops.size() > 1 || first.label.layer >= 0;
                const std::string_view kind = several && lane == 0 ? name(first.label.phase) : hue(p_.program, first);
                if (pass.end > pass.begin)
                    all.push_back({x(pass.begin), x(pass.end), number_of(kind), first.label.micro_batch});
            }
        std::ranges::stable_sort(all, {}, &Bar::begin);
        for (const Bar& bar : all) {
            const bool near = !joined.empty() && bar.begin - joined.back().end < finest;
            if (near && joined.back().hue == bar.hue &&
                (joined.back().micro_batch == bar.micro_batch || bar.end - bar.begin < finest))
                joined.back().end = std::max(joined.back().end, bar.end);
            else if (bar.end - bar.begin >= finest || !near)
                joined.push_back(bar);
        }
        return joined;
    }

    void row(const Track& track, double y) {
        const sim::RankClass& ranks = p_.trace[track.rank_class];
        const strategies::Program& program = p_.program.programs[ranks.role];
        const auto lanes = passes(program, ranks.spans);
        body_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n", left - 8,
                             y + bar_height - 6, escaped_markup(track.title));
        body_ += fmt::format("<path d=\"M{:.0f} {:.0f}H{:.0f}\" stroke=\"#dfe4ec\"/>\n", left, y + bar_height,
                             width - right);
        for (const Bar& bar : bars(program, lanes, 0, 1)) draw(bar, y, bar_height);
        for (const Bar& bar : bars(program, lanes, 1, strategies::lanes)) draw(bar, y + bar_height + 1, strip_height);
    }

    void draw(const Bar& bar, double y, double height) {
        const Hue& hue = hues.at(bar.hue);
        used_.insert(bar.hue);
        const double wide = bar.end - bar.begin, gap = wide > 4 ? 0.5 : 0;
        body_ += fmt::format("<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\"/>\n",
                             bar.begin, y, std::max(wide - gap, 0.2), height, hue.colour);
        const std::string number = fmt::format("{}", bar.micro_batch + 1);
        if (height < bar_height || bar.micro_batch < 0 || wide < 4 + digit * static_cast<double>(number.size())) return;
        body_ += fmt::format(
            "<text x=\"{:.1f}\" y=\"{:.0f}\" fill=\"{}\" text-anchor=\"middle\" font-size=\"10\">{}</text>\n",
            (bar.begin + bar.end) / 2, y + bar_height - 6, hue.text, number);
    }

    void axis() {
        const double rough = p_.step_time_s / 8;
        if (!(rough > 0)) return;
        const double power = std::pow(10, std::floor(std::log10(rough)));
        const double step = rough < 2 * power ? 2 * power : rough < 5 * power ? 5 * power : 10 * power;
        for (int i = 0; step * i <= p_.step_time_s; ++i) {
            body_ += fmt::format("<path d=\"M{0:.1f} {1:.0f}V{2:.0f}\" stroke=\"#dfe4ec\"/>\n", x(step * i), top - 6,
                                 bottom_);
            body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>\n", x(step * i),
                                 bottom_ + 16, i == 0 ? "0" : format_seconds(step * i));
        }
    }

    void head(std::string_view title, std::string_view words) {
        body_ +=
            fmt::format("<text x=\"20\" y=\"26\" font-size=\"16\" fill=\"#1b2430\">{}</text>\n", escaped_markup(title));
        body_ += fmt::format("<text x=\"20\" y=\"46\">{}</text>\n", escaped_markup(words));
    }

    void legend() {
        double at = left;
        for (const std::size_t number : used_) {
            const Hue& hue = hues.at(number);
            body_ += fmt::format(
                "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"12\" height=\"12\" fill=\"{2}\"/>\n"
                "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
                at, bottom_ + 30, hue.colour, at + 18, bottom_ + 40, hue.name);
            at += 50 + 7.5 * static_cast<double>(hue.name.size());
        }
    }

    const sim::Prediction& p_;
    double scale_ = 0, bottom_ = 0;
    std::set<std::size_t> used_;  // hues, in their order
    std::string body_;
};

}  // namespace

std::string step_svg(const scenarios::Scenario& scenario, const sim::Prediction& prediction) {
    return Drawing(scenario, prediction).text();
}

}  // namespace orrery::report
