#include "report/chrome_trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <variant>
#include <vector>

#include "report/operation.hpp"

namespace orrery::report {

namespace {

constexpr std::size_t host_lane = strategies::lanes;  // a track after those of the lanes

/// Perfetto keeps process 0 and thread 0 for the kernel's idle task: ours count from 1.
constexpr std::size_t process_id(std::size_t stage) { return stage + 1; }
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

std::uint32_t stage_of(const sim::Prediction& p, const sim::RankClass& ranks) {
    return p.program.mesh.coordinate(ranks.representative, strategies::Axis::pipeline);
}

/// Of each stage's classes the first: the same replica's, as ranks are numbered.
std::vector<std::size_t> shown_classes(const sim::Prediction& p) {
    std::map<std::uint32_t, std::size_t> first;
    for (std::size_t i = 0; i < p.trace.size(); ++i) {
        const auto [place, is_new] = first.emplace(stage_of(p, p.trace[i]), i);
        if (!is_new && p.trace[i].representative < p.trace[place->second].representative) place->second = i;
    }
    std::vector<std::size_t> classes;
    for (const auto& [stage, rank_class] : first) classes.push_back(rank_class);
    return classes;
}

void name_tracks(Events& events, const sim::Prediction& p, std::size_t rank_class) {
    const sim::RankClass& ranks = p.trace[rank_class];
    const std::uint32_t stage = stage_of(p, ranks);
    const std::string process = fmt::format("stage {}: rank {}", stage, ranks.representative);
    metadata(events, process_id(stage), 0, "process_name", fmt::format(R"("name":{})", json_text(process)));
    metadata(events, process_id(stage), 0, "process_sort_index", fmt::format(R"("sort_index":{})", stage));
    std::vector<bool> used(host_lane + 1, false);
    for (const strategies::Op& op : p.program.programs[ranks.role].ops) used[lane_of(op)] = true;
    for (std::size_t lane = 0; lane < used.size(); ++lane) {
        if (!used[lane]) continue;
        const std::string_view title = lane == host_lane ? "host" : name(static_cast<strategies::Lane>(lane));
        metadata(events, process_id(stage), thread_id(lane), "thread_name",
                 fmt::format(R"("name":{})", json_text(title)));
        metadata(events, process_id(stage), thread_id(lane), "thread_sort_index",
                 fmt::format(R"("sort_index":{})", lane));
    }
}

std::string arguments(const strategies::StepProgram& step, const strategies::Op& op, const std::string& text) {
    std::string args = fmt::format(R"("phase":"{}","what":{})", name(op.label.phase), text);
    if (op.label.micro_batch >= 0) args += fmt::format(R"(,"micro_batch":{})", op.label.micro_batch);
    if (op.label.layer >= 0) args += fmt::format(R"(,"layer":{})", op.label.layer);
    const double bytes = bytes_of(step, op);
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

void slices(Events& events, const sim::Prediction& p, std::size_t rank_class, Texts& texts) {
    const sim::RankClass& ranks = p.trace[rank_class];
    const std::uint32_t stage = stage_of(p, ranks);
    const strategies::Program& program = p.program.programs[ranks.role];
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const strategies::Op& op = program.ops[i];
        const std::int64_t begin = nanoseconds(ranks.spans[i].begin), end = nanoseconds(ranks.spans[i].end);
        events.add(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"name":{},"cat":"{}","args":{{{}}}}})",
                               process_id(stage), thread_id(lane_of(op)), microseconds(begin),
                               microseconds(end - begin), json_text(p.program.names[op.label.name]),
                               category(p.program, op), arguments(p.program, op, texts(op))));
    }
}

/// Samples are counted in program order, in which only the compute lane's operations follow one another in time: a
/// sample is shown when the first compute operation from it on begins.
void memory_counter(Events& events, const sim::Prediction& p, std::size_t rank_class) {
    const sim::RankClass& ranks = p.trace[rank_class];
    const strategies::Program& program = p.program.programs[ranks.role];
    const std::uint32_t stage = stage_of(p, ranks);
    if (stage >= p.memory.size()) return;
    std::size_t op = 0;
    for (const sim::StageMemory::Sample& sample : p.memory[stage].over_time) {
        op = std::max<std::size_t>(op, sample.op);
        while (op < program.ops.size() && lane_of(program.ops[op]) != 0) ++op;
        const double at = op < program.ops.size() ? ranks.spans[op].begin : p.step_time_s;
        events.add(fmt::format(R"({{"ph":"C","pid":{},"ts":{},"name":"memory","args":{{"bytes":{}}}}})",
                               process_id(stage), microseconds(nanoseconds(at)), sample.bytes));
    }
}

void require_trace(const sim::Prediction& p) {
    if (p.trace.empty()) throw std::invalid_argument("the prediction was made without its trace");
    for (const sim::RankClass& ranks : p.trace)
        if (ranks.role >= p.program.programs.size() || ranks.spans.size() != p.program.programs[ranks.role].ops.size())
            throw std::invalid_argument("the prediction's trace does not belong to its program");
}

}  // namespace

void chrome_trace(const scenarios::Scenario& scenario, const sim::Prediction& p, const Sink& sink) {
    require_trace(p);
    sink(fmt::format(R"({{"displayTimeUnit":"ms","otherData":{{"program":"orrery {}","scenario":{},"profile":{},)"
                     R"("cluster":{},"seed":{}}},)"
                     "\n\"traceEvents\":[",
                     p.version, json_text(scenario.name), json_text(p.profile), json_text(p.cluster), p.seed));
    Events events(sink);
    Texts texts(p.program);
    for (const std::size_t rank_class : shown_classes(p)) {
        name_tracks(events, p, rank_class);
        slices(events, p, rank_class, texts);
        memory_counter(events, p, rank_class);
    }
    events.flush();
    sink("\n]}\n");
}

}  // namespace orrery::report
