#include "report/stage_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "base/table.hpp"
#include "report/breakdown.hpp"

namespace orrery::report {

namespace {

constexpr std::size_t most_columns = 8;  // stages side by side in some 100 characters

/// A milliseconds cell: as many decimals as a step of that length makes worth reading.
std::string milliseconds(double seconds, double step) {
    const double ms = seconds * 1e3;
    return fmt::format("{:.{}f}", ms, step < 0.01 ? 3 : ms < 100 ? 1 : 0);
}

/// In GiB, or in MiB where everything is smaller than one GiB.
class MemoryUnit {
public:
    explicit MemoryUnit(std::uint64_t largest) : small_(largest < (std::uint64_t{1} << 30U)) {}
    [[nodiscard]] std::string_view name() const { return small_ ? "MiB" : "GiB"; }
    [[nodiscard]] std::string text(std::uint64_t bytes) const {
        return fmt::format("{:.1f}", static_cast<double>(bytes) / (small_ ? 1024.0 * 1024 : 1024.0 * 1024 * 1024));
    }

private:
    bool small_;
};

/// Neighbouring stages of one column.
struct Range {
    std::size_t first = 0, last = 0;
    [[nodiscard]] std::string title() const {
        return first == last ? fmt::format("stage {}", first) : fmt::format("stages {}-{}", first, last);
    }
};

/// A table over the shown stages; those that are left out make one column of dots. Where it is too wide, neighbours
/// that are alike share a column; where it is still too wide, it goes on below itself.
class StageTable {
public:
    StageTable(std::string title, const std::vector<std::size_t>& shown, std::string last = "")
        : title_(std::move(title)), last_(std::move(last)) {
        for (const std::size_t stage : shown) stages_.push_back({stage, stage});
    }

    /// cell(stage) gives the text of one stage's cell.
    template <class Cell>
    void row(std::string title, Cell cell, std::string last = "") {
        Row row{std::move(title), {}, std::move(last)};
        for (const Range& stage : stages_) row.cells.push_back(cell(stage.first));
        rows_.push_back(std::move(row));
    }

    void rule() { rows_.emplace_back(); }

    /// columns: of the terminal; 0: as many as it takes.
    [[nodiscard]] std::string to_text(std::size_t columns) const {
        const std::string whole = text(stages_, true);
        if (fits(whole, columns)) return whole;
        const std::vector<Range> folded = fold();
        std::string pieces;
        for (auto from = folded.begin(); from != folded.end();) {
            auto to = folded.end();
            std::string piece = text({from, to}, true);
            while (!fits(piece, columns) && to - from > 1) piece = text({from, --to}, to == folded.end());
            pieces += (pieces.empty() ? "" : "\n") + piece;
            from = to;
        }
        return pieces;
    }

private:
    struct Row {  ///< a rule has no cells
        std::string title;
        std::vector<std::string> cells;  // by shown stage
        std::string last;
    };

    [[nodiscard]] static bool fits(const std::string& text, std::size_t columns) {
        std::istringstream lines(text);
        for (std::string line; columns > 0 && std::getline(lines, line);)
            if (display_width(line) > columns) return false;
        return true;
    }

    [[nodiscard]] std::size_t index_of(std::size_t stage) const {
        const auto at = std::ranges::find(stages_, stage, &Range::first);
        return static_cast<std::size_t>(at - stages_.begin());
    }

    [[nodiscard]] std::vector<Range> fold() const {
        std::vector<Range> folded;
        for (std::size_t i = 0; i < stages_.size(); ++i) {
            const bool alike =
                i > 0 && stages_[i].first == stages_[i - 1].last + 1 && std::ranges::all_of(rows_, [&](const Row& row) {
                    return row.cells.empty() || row.cells[i] == row.cells[i - 1];
                });
            if (alike)
                folded.back().last = stages_[i].last;
            else
                folded.push_back(stages_[i]);
        }
        return folded;
    }

    [[nodiscard]] std::string text(const std::vector<Range>& ranges, bool with_last) const {
        const bool ends = with_last && !last_.empty();
        const auto gap_before = [&](std::size_t i) { return i > 0 && ranges[i].first != ranges[i - 1].last + 1; };
        std::vector<Table::Column> columns{{title_, Table::Align::left}};
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            if (gap_before(i)) columns.push_back({"..."});
            columns.push_back({ranges[i].title()});
        }
        if (ends) columns.push_back({last_});
        Table table(std::move(columns));
        for (const Row& row : rows_) {
            if (row.cells.empty()) {
                table.rule();
                continue;
            }
            std::vector<std::string> cells{row.title};
            for (std::size_t i = 0; i < ranges.size(); ++i) {
                if (gap_before(i)) cells.emplace_back();
                cells.push_back(row.cells[index_of(ranges[i].first)]);
            }
            if (ends) cells.push_back(row.last);
            table.row(std::move(cells));
        }
        return table.to_text();
    }

    std::string title_, last_;
    std::vector<Range> stages_;  // of one stage each
    std::vector<Row> rows_;
};

}  // namespace

std::string breakdown_table(const sim::Step& p, const strategies::Strategy& strategy, std::size_t columns) {
    if (p.stages.empty()) return "";
    StageTable table("time (ms)", shown_stages(p.stages.size(), bounding_stage(p.stages)),
                     p.stages.size() == 1 ? "share" : "mean share");
    for (const Category& category : categories) {
        double sum = 0;
        for (const sim::Breakdown& stage : p.stages) sum += stage.*category.seconds;
        const double share = sum / static_cast<double>(p.stages.size()) / p.step_time_s;
        if (share < 0.0005) continue;  // 0.0%
        table.row(
            std::string(title_of(category, strategy)),
            [&](std::size_t stage) { return milliseconds(p.stages[stage].*category.seconds, p.step_time_s); },
            fmt::format("{:.1f}%", 100 * share));
    }
    table.rule();
    table.row("step", [&](std::size_t stage) { return milliseconds(p.stages[stage].total(), p.step_time_s); });
    return table.to_text(columns);
}

std::string memory_table(const sim::Step& p, std::size_t columns) {
    if (p.memory.empty()) return "";
    const std::size_t fullest = p.fullest_stage();
    const MemoryUnit unit(p.memory[fullest].peak);
    StageTable table(fmt::format("memory ({})", unit.name()), shown_stages(p.memory.size(), fullest));
    const auto row = [&](std::string title, auto bytes) {
        table.row(std::move(title), [&](std::size_t stage) { return unit.text(bytes(p.memory[stage])); });
    };
    for (std::size_t keep = 0; keep < strategies::keeps; ++keep)
        row(std::string(name(static_cast<strategies::Keep>(keep))), [&](const auto& m) { return m.at_peak[keep]; });
    table.rule();
    const bool one_capacity = std::ranges::all_of(p.stage_capacity, [&](auto c) { return c == p.memory_capacity; });
    const std::string of_all = one_capacity ? ", of " + unit.text(p.memory_capacity) : "";
    if (std::ranges::any_of(p.framework, [](const auto& one) { return one.total() > 0; })) {
        row("peak", [](const auto& m) { return m.peak; });
        table.row("framework", [&](std::size_t stage) { return unit.text(p.framework[stage].total()); });
        table.row("needed" + of_all, [&](std::size_t stage) { return unit.text(p.needed(stage)); });
    } else {
        row("peak" + of_all, [](const auto& m) { return m.peak; });
    }
    if (!one_capacity)
        table.row("of the smallest GPU's", [&](std::size_t stage) { return unit.text(p.capacity(stage)); });
    if (!p.allocator.empty())
        table.row("reserved", [&](std::size_t stage) -> std::string {
            const strategies::AllocatorUse* const use = p.replayed(stage);
            if (use == nullptr) return "-";
            return use->out_of_memory ? "OOM" : unit.text(use->reserved);
        });
    if (std::ranges::any_of(p.memory, [](const auto& m) { return m.host > 0; }))
        row("in host memory", [](const auto& m) { return m.host; });
    if (p.memory[fullest].after_optimizer == 0) return table.to_text(columns);  // a run that knows its peak alone
    row("before backward", [](const auto& m) { return m.before_backward; });
    row("after backward", [](const auto& m) { return m.after_backward; });
    row("after optimizer", [](const auto& m) { return m.after_optimizer; });
    return table.to_text(columns);
}

std::vector<std::size_t> shown_stages(std::size_t stages, std::size_t notable) {
    std::set<std::size_t> shown;
    if (stages <= most_columns) {
        for (std::size_t stage = 0; stage < stages; ++stage) shown.insert(stage);
    } else {
        shown = {0, 1, std::min(notable, stages - 1), stages - 2, stages - 1};
    }
    return {shown.begin(), shown.end()};
}

}  // namespace orrery::report
