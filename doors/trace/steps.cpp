#include "doors/trace/steps.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "base/statistics.hpp"

namespace orrery::doors::trace {

namespace {

Use use_of(Kind kind, Phase phase) {
    if (kind == Kind::communication) return Use::communication;
    if (kind == Kind::copy) return Use::copies;
    if (phase == Phase::optimizer) return Use::optimizer;
    if (kind == Kind::gemm) return Use::gemm;
    return kind == Kind::attention ? Use::attention : Use::memory_bound;
}

/// The device of most kernels.
std::uint32_t busiest(const Trace& trace) {
    std::map<std::uint32_t, std::size_t> count;
    for (const DeviceSpan& span : trace.device) ++count[span.device];
    return std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first;
}

/// The marked stretches of the host, by begin; those that lie in another are not steps of their own.
std::vector<Step> marked(const Trace& trace, std::string_view marker) {
    std::vector<Step> found;
    for (const HostSpan& span : trace.host) {
        const std::string& name = trace.names[span.name];
        if (name.starts_with(marker)) found.push_back({name, span.begin, span.end, {}, {}});
    }
    std::ranges::stable_sort(found, {}, &Step::begin);
    std::vector<Step> apart;
    for (Step& step : found)
        if (apart.empty() || step.begin >= apart.back().end) apart.push_back(std::move(step));
    return apart;
}

/// Puts every kernel into the step of its launch.
void distribute(const Trace& trace, const std::vector<Origin>& origins, std::vector<Step>& steps) {
    const std::uint32_t device = busiest(trace);
    for (std::uint32_t i = 0; i < trace.device.size(); ++i) {
        if (trace.device[i].device != device) continue;
        const auto after = std::ranges::upper_bound(steps, origins[i].launched, {}, &Step::begin);
        if (after != steps.begin() && origins[i].launched < std::prev(after)->end)
            std::prev(after)->device.push_back(i);
    }
    std::erase_if(steps, [](const Step& step) { return step.device.empty(); });
    for (Step& step : steps)
        std::ranges::stable_sort(step.device, {}, [&](std::uint32_t i) { return trace.device[i].begin; });
}

std::int64_t last_end(const Trace& trace, const Step& step) {
    std::int64_t end = step.begin;
    for (const std::uint32_t i : step.device) end = std::max(end, trace.device[i].end);
    return end;
}

/// From the times of the host to those of the device.
void bound(const Trace& trace, std::vector<Step>& steps) {
    if (steps.size() == 1) {
        Step& only = steps.front();
        only.begin = std::min(only.begin, trace.device[only.device.front()].begin);
        only.end = std::max(only.end, last_end(trace, only));
        return;
    }
    for (Step& step : steps) step.begin = trace.device[step.device.front()].begin;
    for (std::size_t s = 0; s + 1 < steps.size(); ++s) steps[s].end = std::max(steps[s].begin, steps[s + 1].begin);
    steps.pop_back();
}

/// Walks the kernels' begins and ends: at each moment the first use of which any runs has the time.
void account(const Trace& trace, const std::vector<Origin>& origins, Step& step) {
    std::vector<std::pair<std::int64_t, std::pair<std::size_t, int>>> changes;
    for (const std::uint32_t i : step.device) {
        const DeviceSpan& span = trace.device[i];
        const auto use =
            static_cast<std::size_t>(use_of(kind_of(span, trace.names[span.name], origins[i]), origins[i].phase));
        changes.push_back({std::clamp(span.begin, step.begin, step.end), {use, 1}});
        changes.push_back({std::clamp(span.end, step.begin, step.end), {use, -1}});
    }
    std::ranges::sort(changes);
    std::array<int, uses> running{};
    std::int64_t now = step.begin;
    const auto pass = [&](std::int64_t until) {
        const auto first = std::ranges::find_if(running, [](int n) { return n > 0; });
        const std::size_t use = first == running.end() ? uses - 1 : static_cast<std::size_t>(first - running.begin());
        step.seconds[use] += static_cast<double>(until - now) * 1e-9;
        now = until;
    };
    for (const auto& [at, change] : changes) {
        pass(at);
        running[change.first] += change.second;
    }
    pass(step.end);
}

}  // namespace

std::string_view name(Use use) {
    constexpr std::array<std::string_view, uses> names{"gemm",          "attention", "memory_bound", "optimizer",
                                                       "communication", "copies",    "idle"};
    return names[static_cast<std::size_t>(use)];
}

std::vector<Step> steps(const Trace& trace, const std::vector<Origin>& origins, std::string_view marker,
                        const std::string& file) {
    if (trace.device.empty())
        throw Error(file, trace.recorder->events, "holds no kernel of a GPU", trace.recorder->remedy);
    std::vector<Step> all = marked(trace, marker);
    if (all.empty()) {
        all.push_back({std::string(whole_trace), trace.device.front().begin, trace.device.front().end, {}, {}});
        for (std::size_t i = 0; i < trace.device.size(); ++i) {
            all.front().begin = std::min({all.front().begin, trace.device[i].begin, origins[i].launched});
            all.front().end = std::max({all.front().end, trace.device[i].end, origins[i].launched + 1});
        }
    }
    distribute(trace, origins, all);
    if (all.empty())
        throw Error(file, trace.recorder->events, "no kernel was launched in any of its steps",
                    "--step with the beginning of the annotation that a step lies in");
    bound(trace, all);
    for (Step& step : all) account(trace, origins, step);
    return all;
}

std::vector<Stream> streams(const Trace& trace, const std::vector<Step>& steps) {
    std::map<std::uint32_t, std::pair<Stream, std::vector<double>>> all;
    for (const Step& step : steps) {
        std::map<std::uint32_t, std::int64_t> end;
        for (const std::uint32_t i : step.device) {
            const DeviceSpan& span = trace.device[i];
            auto& [stream, gaps] = all[span.stream];
            stream.stream = span.stream;
            ++stream.kernels;
            stream.busy += static_cast<double>(span.end - span.begin) * 1e-9;
            const auto [before, first] = end.try_emplace(span.stream, span.end);
            if (!first && span.begin > before->second)
                gaps.push_back(static_cast<double>(span.begin - before->second) * 1e-9);
            before->second = std::max(before->second, span.end);
        }
    }
    std::vector<Stream> out;
    for (auto& [number, entry] : all) {
        auto& [stream, gaps] = entry;
        stream.gaps = gaps.size();
        for (const double gap : gaps) stream.idle += gap;
        stream.median_gap = median(gaps);
        out.push_back(stream);
    }
    return out;
}

}  // namespace orrery::doors::trace
