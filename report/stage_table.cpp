#include "report/stage_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
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

/// A table over the shown stages; those that are left out make one column of dots.
class StageTable {
public:
    StageTable(std::string title, std::vector<std::size_t> shown, const std::string& last = "")
        : shown_(std::move(shown)), table_(columns(std::move(title), last)) {}

    /// cell(stage) gives the text of one stage's cell.
    template <class Cell>
    void row(std::string title, Cell cell, std::string last = "") {
        std::vector<std::string> cells{std::move(title)};
        for (std::size_t i = 0; i < shown_.size(); ++i) {
            if (gap_before(i)) cells.emplace_back();
            cells.push_back(cell(shown_[i]));
        }
        if (!last.empty()) cells.push_back(std::move(last));
        table_.row(std::move(cells));
    }

    void rule() { table_.rule(); }
    [[nodiscard]] std::string to_text() const { return table_.to_text(); }

private:
    [[nodiscard]] bool gap_before(std::size_t i) const { return i > 0 && shown_[i] != shown_[i - 1] + 1; }

    [[nodiscard]] std::vector<Table::Column> columns(std::string title, const std::string& last) const {
        std::vector<Table::Column> list{{std::move(title), Table::Align::left}};
        for (std::size_t i = 0; i < shown_.size(); ++i) {
            if (gap_before(i)) list.push_back({"..."});
            list.push_back({fmt::format("stage {}", shown_[i])});
        }
        if (!last.empty()) list.push_back({last});
        return list;
    }

    std::vector<std::size_t> shown_;
    Table table_;
};

}  // namespace

std::string breakdown_table(const sim::Prediction& p) {
    if (p.stages.empty()) return "";
    StageTable table("time (ms)", shown_stages(p.stages.size(), bounding_stage(p.stages)),
                     p.stages.size() == 1 ? "share" : "mean share");
    for (const Category& category : categories) {
        double sum = 0;
        for (const sim::Breakdown& stage : p.stages) sum += stage.*category.seconds;
        const double share = sum / static_cast<double>(p.stages.size()) / p.step_time_s;
        if (share < 0.0005) continue;  // 0.0%
        table.row(
            std::string(category.title),
            [&](std::size_t stage) { return milliseconds(p.stages[stage].*category.seconds, p.step_time_s); },
            fmt::format("{:.1f}%", 100 * share));
    }
    table.rule();
    table.row("step", [&](std::size_t stage) { return milliseconds(p.stages[stage].total(), p.step_time_s); });
    return table.to_text();
}

std::string memory_table(const sim::Prediction& p) {
    if (p.memory.empty()) return "";
    const std::size_t fullest = fullest_stage(p);
    const MemoryUnit unit(p.memory[fullest].peak);
    StageTable table(fmt::format("memory ({})", unit.name()), shown_stages(p.memory.size(), fullest));
    const auto row = [&](std::string title, auto bytes) {
        table.row(std::move(title), [&](std::size_t stage) { return unit.text(bytes(p.memory[stage])); });
    };
    for (std::size_t keep = 0; keep < strategies::keeps; ++keep)
        row(std::string(name(static_cast<strategies::Keep>(keep))), [&](const auto& m) { return m.at_peak[keep]; });
    table.rule();
    const bool one_capacity = std::ranges::all_of(p.stage_capacity, [&](auto c) { return c == p.memory_capacity; });
    row(one_capacity ? "peak, of " + unit.text(p.memory_capacity) : "peak", [](const auto& m) { return m.peak; });
    if (!one_capacity)
        table.row("of the smallest GPU's", [&](std::size_t stage) { return unit.text(p.capacity(stage)); });
    if (std::ranges::any_of(p.memory, [](const auto& m) { return m.host > 0; }))
        row("in host memory", [](const auto& m) { return m.host; });
    if (p.memory[fullest].after_optimizer == 0) return table.to_text();  // a run that knows its peak alone
    row("before backward", [](const auto& m) { return m.before_backward; });
    row("after backward", [](const auto& m) { return m.after_backward; });
    row("after optimizer", [](const auto& m) { return m.after_optimizer; });
    return table.to_text();
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
