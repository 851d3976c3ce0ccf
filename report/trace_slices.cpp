#include "report/trace_slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "base/units.hpp"
#include "report/trace_layers.hpp"

namespace orrery::report {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

bool same_pass(const strategies::Label& a, const strategies::Label& b) {
    return a.layer >= 0 && a.layer == b.layer && a.micro_batch == b.micro_batch && a.phase == b.phase;
}

/// Slices of all tracks together.
std::size_t count(const sim::Step& p, const Tracks& tracks, const TraceExtent& extent) {
    std::size_t sum = 0;
    for (const Track& track : tracks.shown) sum += slices(p, track, extent).size();
    return sum;
}

/// Opens as many micro-batches as there is room for; what is then left out, "" for nothing.
std::string open_calls(const sim::Step& p, const Tracks& tracks, std::size_t room, TraceExtent& extent) {
    const std::vector<std::size_t> counts = inner_counts(p, tracks);
    std::size_t shown = 0, opened = 0;
    while (opened < counts.size() && shown + counts[opened] <= room) shown += counts[opened++];
    extent.opened = static_cast<std::int32_t>(opened);
    if (opened == counts.size()) return "";
    const std::string of = opened + 1 == counts.size()
                               ? fmt::format("micro-batch {}", opened)
                               : fmt::format("micro-batches {} to {}", opened, counts.size() - 1);
    return "kernels and collectives within the layers of " + of;
}

/// The latest moment before which at most so many slices begin.
double cut(const sim::Step& p, const Tracks& tracks, const TraceExtent& extent, std::size_t most) {
    std::vector<double> begins;
    for (const Track& track : tracks.shown)
        for (const Slice& slice : slices(p, track, extent)) begins.push_back(slice.begin);
    const auto at = begins.begin() + static_cast<std::ptrdiff_t>(most);
    std::ranges::nth_element(begins, at);
    return *at;
}

}  // namespace

std::vector<Slice> slices(const sim::Step& p, const Track& track, const TraceExtent& extent) {
    const sim::RankClass& ranks = p.trace[track.rank_class];
    const strategies::Program& program = p.program.programs[ranks.role];
    std::array<std::optional<std::size_t>, strategies::lanes> open{};  // of each lane its last slice
    std::vector<Slice> list;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const strategies::Op& op = program.ops[i];
        const sim::Span& span = ranks.spans[i];
        std::optional<std::size_t>& last = open.at(static_cast<std::size_t>(op.lane));
        const bool host = std::holds_alternative<strategies::HostSync>(op.what);
        if (extent.by_layer && !host && last && same_pass(program.ops[list[*last].first].label, op.label)) {
            ++list[*last].ops;
            list[*last].end = span.end;
            continue;
        }
        if (span.begin >= extent.until) continue;
        if (!host) last = list.size();
        list.push_back({i, 1, span.begin, span.end});
    }
    return list;
}

TraceExtent trace_extent(const sim::Step& p, const Tracks& tracks, std::size_t most_slices) {
    TraceExtent extent{false, 0, never, ""};
    std::vector<std::string> left_out;
    if (tracks.stragglers_hidden > 0)
        left_out.push_back(fmt::format("{} more slowed ranks that differ from those shown", tracks.stragglers_hidden));
    const std::size_t all = count(p, tracks, extent);
    if (all > most_slices) {
        extent.by_layer = true;
        left_out.emplace_back("single operations within a layer's pass, which is one slice");
    } else if (std::string closed = open_calls(p, tracks, most_slices - all, extent); !closed.empty()) {
        left_out.push_back(std::move(closed));
    }
    if (extent.by_layer && count(p, tracks, extent) > most_slices) {
        extent.until = cut(p, tracks, extent, most_slices);
        left_out.push_back("all that begins after " + format_seconds(extent.until));
    }
    extent.left_out = join(left_out, "; ");
    return extent;
}

}  // namespace orrery::report
