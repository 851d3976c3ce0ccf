#include "report/chrome_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <variant>
#include <vector>

#include "report/operation.hpp"
#include "report/trace_arrows.hpp"
#include "report/trace_layers.hpp"
#include "report/trace_slices.hpp"
#include "report/trace_tracks.hpp"

namespace orrery::report {

namespace {

constexpr std::size_t host_lane = strategies::lanes;  // a track after those of the lanes

/// Perfetto keeps process 0 and thread 0 for the kernel's idle task: ours count from 1.
constexpr std::size_t first_process = 1;
constexpr std::size_t thread_id(std::size_t lane) { return lane + 1; }

std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Whole nanoseconds, printed as microseconds: neighbours share their rounded edge exactly.
std::int64_t nanoseconds(double seconds) { return std::llround(seconds * 1e9); }
std::string microseconds(std::int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

std::size_t lane_of(const strategies::Op& op) {
    return std::holds_alternative<strategies::HostSync>(op.what) ? host_lane : static_cast<std::size_t>(op.lane);
}

/// Separates events by commas and hands them to the sink in pieces of some size.
class Events {
public:
    explicit Events(const Sink& sink) : sink_(sink) {}
    void add(std::string_view event) {
        buffer_ += first_ ? "\n" : ",\n";
        buffer_ += event;
        first_ = false;
        if (buffer_.size() > (1U << 16U)) flush();
    }
    void flush() {
        sink_(buffer_);
        buffer_.clear();
    }

private:
    const Sink& sink_;
    std::string buffer_;
    bool first_ = true;
};

void metadata(Events& events, std::size_t process, std::size_t thread, std::string_view what, const std::string& args) {
    events.add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{{}}}}})", process, thread, what, args));
}

void name_tracks(Events& events, const sim::Step& p, const Track& track, std::size_t process) {
    metadata(events, process, 0, "process_name", fmt::format(R"("name":{})", json_text(track.title)));
    metadata(events, process, 0, "process_sort_index", fmt::format(R"("sort_index":{})", process - 1));
    std::vector<bool> used(host_lane + 1, false);
    for (const strategies::Op& op : p.program.programs[p.trace[track.rank_class].role].ops) used[lane_of(op)] = true;
    for (std::size_t lane = 0; lane < used.size(); ++lane) {
        if (!used[lane]) continue;
        const std::string_view title = lane == host_lane ? "host" : name(static_cast<strategies::Lane>(lane));
        metadata(events, process, thread_id(lane), "thread_name", fmt::format(R"("name":{})", json_text(title)));
        metadata(events, process, thread_id(lane), "thread_sort_index", fmt::format(R"("sort_index":{})", lane));
    }
}

/// text: quoted; "": none. bytes 0: not known.
std::string arguments(const strategies::Op& op, const std::string& text, double bytes) {
    std::string args = fmt::format(R"("phase":"{}")", name(op.label.phase));
    if (!text.empty()) args += fmt::format(R"(,"what":{})", text);
    if (op.label.micro_batch >= 0) args += fmt::format(R"(,"micro_batch":{})", op.label.micro_batch);
    if (op.label.layer >= 0) args += fmt::format(R"(,"layer":{})", op.label.layer);
    if (bytes > 0) args += fmt::format(R"(,"bytes":{:.0f})", bytes);
    return args;
}

/// The texts of operations, quoted: few differ, and a trace has many.
class Texts {
public:
    explicit Texts(const strategies::StepProgram& step) : step_(step) {}
    const std::string& operator()(const strategies::Op& op) {
        std::string text = describe(step_, op);
        const auto found = quoted_.find(text);
        if (found != quoted_.end()) return found->second;
        std::string form = json_text(text);
        return quoted_.emplace(std::move(text), std::move(form)).first->second;
    }

private:
    const strategies::StepProgram& step_;
    std::map<std::string, std::string> quoted_;
};

/// What a slice of several operations says of itself: it stands for a layer's pass.
struct Words {
    std::string title, category, arguments;
};

Words words(const sim::Step& p, const strategies::Program& program, const Slice& slice, Texts& texts) {
    const strategies::Op& op = program.ops[slice.first];
    if (slice.ops == 1) {
        // A call is told by its category, its phase and what stands within it.
        const bool call = std::holds_alternative<strategies::Call>(op.what);
        return {p.program.names[op.label.name], std::string(category(p.program, op)),
                arguments(op, call ? "" : texts(op), bytes_of(p.program, op))};
    }
    const std::string what = fmt::format("\"{} operations of a layer\"", slice.ops);
    return {std::string(name(op.label.phase)), "layer", arguments(op, what, 0)};
}

void write_slice(Events& events, std::size_t process, std::size_t lane, const sim::Span& span, const Words& said) {
    const std::int64_t begin = nanoseconds(span.begin), end = nanoseconds(span.end);
    events.add(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})",
                           process, thread_id(lane), microseconds(begin), microseconds(end - begin),
                           json_text(said.title), said.category, said.arguments));
}

/// What a call runs: of its operations' labels the micro-batch and the layer are the call's.
void write_inside(Events& events, const sim::Step& p, const strategies::Op& call, const sim::Span& span,
                  std::size_t process, Texts& texts) {
    for (const Inner& inner : inside(p, call, span)) {
        strategies::Op op = *inner.op;
        op.label.micro_batch = call.label.micro_batch;
        op.label.layer = call.label.layer;
        write_slice(events, process, lane_of(op), {inner.begin, inner.end},
                    {p.program.names[op.label.name], std::string(category(p.program, op)),
                     arguments(op, texts(op), bytes_of(p.program, op))});
    }
}

void write_slices(Events& events, const sim::Step& p, const Track& track, const TraceExtent& extent,
                  std::size_t process, Texts& texts) {
    const strategies::Program& program = p.program.programs[p.trace[track.rank_class].role];
    for (const Slice& slice : slices(p, track, extent)) {
        const strategies::Op& op = program.ops[slice.first];
        const sim::Span span{slice.begin, slice.end};
        write_slice(events, process, lane_of(op), span, words(p, program, slice, texts));
        if (slice.ops == 1 && opens(extent, op)) write_inside(events, p, op, span, process, texts);
    }
}

/// An arrow is bound to the slices that hold its ends: a nanosecond before a receive ends it is still one.
void write_arrows(Events& events, const std::vector<Arrow>& list) {
    const auto end = [&](const char* phase, std::size_t number, const Arrow::End& at, std::int64_t ns) {
        events.add(fmt::format(R"({{"ph":"{}","pid":{},"tid":{},"ts":{},"id":{},"name":"message","cat":"message"{}}})",
                               phase, first_process + at.track, thread_id(static_cast<std::size_t>(at.lane)),
                               microseconds(ns), number, *phase == 'f' ? R"(,"bp":"e")" : ""));
    };
    for (std::size_t i = 0; i < list.size(); ++i) {
        end("s", i + 1, list[i].from, nanoseconds(list[i].from.span.begin));
        const std::int64_t begin = nanoseconds(list[i].to.span.begin), last = nanoseconds(list[i].to.span.end) - 1;
        end("f", i + 1, list[i].to, std::max(begin, last));
    }
}

/// Samples are counted in program order, in which only the compute lane's operations follow one another in time: a
/// sample is shown when the first compute operation from it on begins.
void memory_counter(Events& events, const sim::Step& p, const Track& track, const TraceExtent& extent,
                    std::size_t process) {
    const sim::RankClass& ranks = p.trace[track.rank_class];
    const strategies::Program& program = p.program.programs[ranks.role];
    if (track.stage >= p.memory.size() || p.memory[track.stage].role != ranks.role) return;
    std::size_t op = 0;
    for (const sim::StageMemory::Sample& sample : p.memory[track.stage].over_time) {
        op = std::max<std::size_t>(op, sample.op);
        while (op < program.ops.size() && lane_of(program.ops[op]) != 0) ++op;
        const double at = op < program.ops.size() ? ranks.spans[op].begin : p.step_time_s;
        if (at >= extent.until) return;
        events.add(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":"memory","args":{{"bytes":{}}}}})", process,
                               microseconds(nanoseconds(at)), sample.bytes));
    }
}

void require_trace(const sim::Step& p) {
    if (p.trace.empty()) throw std::invalid_argument("the step comes without its trace");
    for (const sim::RankClass& ranks : p.trace)
        if (ranks.role >= p.program.programs.size() || ranks.spans.size() != p.program.programs[ranks.role].ops.size())
            throw std::invalid_argument("the step's trace does not belong to its program");
}

}  // namespace

std::string chrome_trace(const scenarios::Scenario& scenario, const sim::Step& p, const Sink& sink,
                         const TraceOptions& options) {
    require_trace(p);
    const auto& stragglers = scenario.perturbations.stragglers;
    const Tracks tracks = options.ranks.empty() ? trace_tracks(stragglers, p) : tracks_of(options.ranks, stragglers, p);
    const TraceExtent extent = trace_extent(p, tracks, options.most_slices);
    const std::string left_out =
        extent.left_out.empty() ? "" : fmt::format(R"(,"left out":{})", json_text(extent.left_out));
    sink(fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"program":"orrery {}","scenario":{},"profile":{},)"
                     R"("cluster":{},"seed":{}{}}},)"
                     "\n\"traceEvents\":[",
                     p.version, json_text(scenario.name), json_text(p.profile), json_text(p.cluster), p.seed,
                     left_out));
    Events events(sink);
    Texts texts(p.program);
    for (std::size_t i = 0; i < tracks.shown.size(); ++i) {
        const std::size_t process = first_process + i;
        name_tracks(events, p, tracks.shown[i], process);
        write_slices(events, p, tracks.shown[i], extent, process, texts);
        memory_counter(events, p, tracks.shown[i], extent, process);
    }
    write_arrows(events, arrows(p, tracks, extent));
    events.flush();
    sink("\n]}\n");
    return extent.left_out;
}

}  // namespace orrery::report
