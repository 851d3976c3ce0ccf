#include "calibrate/measure/measured_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "calibrate/gpu_constants.hpp"
#include "calibrate/gpu_facts.hpp"
#include "calibrate/measure/stopping.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::Kernel;

/// A best reading: the value and what it was read from.
struct Best {
    double value = 0;
    std::string from;
};

/// Highest GEMM rate, burst, among formats that `fits` accepts.
template <class Fits>
Best best_rate(const LogContent& log, Fits fits) {
    Best best;
    for (const Record& r : log.records) {
        const auto* kernel = std::get_if<Kernel>(&r.subject);
        const auto* g = kernel == nullptr ? nullptr : std::get_if<Gemm>(kernel);
        if (g == nullptr || !r.failure.empty() || !fits(g->dtype)) continue;
        const double rate = kernels::flops(*g) / r.seconds;
        if (rate > best.value) best = {rate, kernels::to_text(*kernel)};
    }
    return best;
}

/// Highest rate of a memory-bound kernel or copy whose operands came from memory: with half of its range as the
/// distance to the hot reading, the cold one is the slower end.
Best best_bandwidth(const LogContent& log) {
    Best best;
    for (const Record& r : log.records) {
        if (!r.failure.empty()) continue;
        double bytes = 0;
        if (const auto* kernel = std::get_if<Kernel>(&r.subject))
            bytes = std::holds_alternative<kernels::Pointwise>(*kernel) ? kernels::bytes(*kernel) : 0;
        if (const auto* copy = std::get_if<CopyShape>(&r.subject))
            if (copy->kind == kernels::CopyKind::device_to_device) bytes = 2.0 * static_cast<double>(copy->bytes);
        if (bytes < 2.0 * static_cast<double>(log.fingerprint.cache_bytes)) continue;
        const double rate = bytes / (r.seconds * (1 + r.half_width));
        if (rate > best.value) best = {rate, to_text(r.subject)};
    }
    return best;
}

const Record* find(const LogContent& log, auto fits) {
    for (const Record& r : log.records)
        if (r.failure.empty() && fits(r.subject)) return &r;
    return nullptr;
}

const Record* overhead(const LogContent& log, OverheadShape::Kind kind) {
    return find(log, [&](const Subject& s) {
        const auto* o = std::get_if<OverheadShape>(&s);
        return o != nullptr && o->kind == kind;
    });
}

using Constants = std::map<std::string, Constant>;

void set_peaks(Constants& out, const LogContent& log) {
    const Best half = best_rate(log, kernels::is_half),
               single = best_rate(log, [](Dtype d) { return d == Dtype::fp32; });
    const auto measured = [](const Best& best) { return "measured: best rate, " + best.from; };
    constexpr double unknown_flops = 1e12;
    if (single.value > 0) out["peak_single_flops"] = {single.value, "flop/s", measured(single)};
    if (half.value > 0)
        out["peak_half_flops"] = {half.value, "flop/s", measured(half)};
    else if (single.value > 0)
        out["peak_half_flops"] = {single.value, "flop/s", measured(single) + "; fp32: no 16-bit product was measured"};
    else
        out["peak_half_flops"] = {unknown_flops, "flop/s",
                                  "a scale only: no product was measured, and the profile predicts none"};
    const Best bandwidth = best_bandwidth(log);
    constexpr double unknown_bandwidth = 1e10;
    if (bandwidth.value > 0)
        out["memory_bytes_per_second"] = {bandwidth.value, "B/s", "measured: cold, best of " + bandwidth.from};
    else
        out["memory_bytes_per_second"] = {unknown_bandwidth, "B/s",
                                          "a scale only: no memory-bound kernel larger than the caches was measured"};
    if (log.fingerprint.multiprocessors > 0)
        out["multiprocessors"] = {static_cast<double>(log.fingerprint.multiprocessors), "1",
                                  "as the device reports them"};
}

double highest_hertz(const LogContent& log) {
    double highest = log.fingerprint.core_hertz;
    for (const Record& r : log.records) highest = std::max(highest, r.core_hertz);
    return highest;
}

/// FLOP/s of the fastest product of the shape's format.
double best_rate_like(const LogContent& log, const kernels::Gemm& like) {
    double best = 0;
    for (const Record& r : log.records) {
        const auto* kernel = std::get_if<Kernel>(&r.subject);
        const auto* gemm = kernel == nullptr || !r.failure.empty() ? nullptr : std::get_if<kernels::Gemm>(kernel);
        if (gemm != nullptr && gemm->dtype == like.dtype && gemm->batch == 1)
            best = std::max(best, kernels::flops(*gemm) / r.seconds);
    }
    return best;
}

/// A GPU at its power limit is there in short repeats of a large product already, so that these are no measure of what
/// it keeps: the best rate of the table is. A CPU tells no clock, and its short repeats of the same product are.
void set_sustained(Constants& out, const LogContent& log) {
    out["sustained_gemm"] = {1, "1", "no long run was measured: taken as none slower than the table"};
    const Record* sustained = find(log, [](const Subject& s) { return std::holds_alternative<SustainedShape>(s); });
    if (sustained == nullptr) return;
    const auto& shape = std::get<SustainedShape>(sustained->subject);
    const double rate = kernels::flops(Kernel(shape.gemm)) / sustained->seconds;
    const std::string long_run = fmt::format("measured: {:.4g} TFLOP/s over {} s without a pause, {}, over ",
                                             rate / 1e12, shape.seconds, kernels::to_text(Kernel(shape.gemm)));
    const double highest = highest_hertz(log);
    if (sustained->core_hertz > 0 && highest > 0) {
        const double best = best_rate_like(log, shape.gemm);
        out["sustained_gemm"] = {std::min(1.0, rate / best), "1",
                                 fmt::format("{}{:.4g} of the fastest in short repeats", long_run, best / 1e12)};
        out["sustained_clock"] = {
            std::min(1.0, sustained->core_hertz / highest), "1",
            fmt::format("measured: {:.0f} of {:.0f} MHz during that run", sustained->core_hertz / 1e6, highest / 1e6)};
        return;
    }
    const Record* burst = find(log, [&](const Subject& s) { return s == Subject(Kernel(shape.gemm)); });
    if (burst == nullptr) return;
    out["sustained_gemm"] = {std::min(1.0, burst->seconds / sustained->seconds), "1",
                             long_run + "its rate in short repeats"};
}

/// Twice a kernel minus one of twice the size holds, beside the gap, what every kernel takes to begin and to end. What
/// is taken out of all kernels' times must leave the shortest something.
double shortest_kernel(const LogContent& log) {
    double shortest = std::numeric_limits<double>::infinity();
    for (const Record& r : log.records)
        if (r.failure.empty() && std::holds_alternative<Kernel>(r.subject)) shortest = std::min(shortest, r.seconds);
    return shortest;
}

void set_overheads(Constants& out, const LogContent& log) {
    const bool cpu = log.fingerprint.kind == "cpu";
    const auto set = [&](const char* key, const Record* r, double factor, const std::string& origin) {
        if (r != nullptr)
            out[key] = {r->seconds * factor, "s", "measured: " + origin};
        else if (cpu)
            out[key] = {0, "s", "a CPU runs its kernels when they are called: their times contain the call"};
        else if (!out.contains(key))
            out[key] = {0, "s", "not measured: the launch suite was left out"};
    };
    const Record* launch = overhead(log, OverheadShape::Kind::launch);
    const Record* gap = overhead(log, OverheadShape::Kind::gap);
    set("launch_seconds", launch, 1, "host time of one launch from C++; a framework's own time comes on top");
    std::string origin = "twice a kernel minus one kernel of twice the size";
    Record least;
    if (const double most = shortest_kernel(log) / 2; gap != nullptr && gap->seconds > most) {
        least.seconds = most;
        gap = &least;
        origin = "half of what the shortest kernel takes, one behind the other";
    }
    set("kernel_gap_seconds", gap, 1, origin);
    set("collective_launch_seconds", gap, 2, "two waits between streams, each one kernel_gap_seconds");
}

/// Copy engines take nothing from a kernel's multiprocessors, and say nothing of collectives.
bool is_beside_collective(const Record& record) {
    const auto* const shape = std::get_if<OverlapShape>(&record.subject);
    return shape != nullptr && std::holds_alternative<CollectiveShape>(shape->beside);
}

void set_overlap(Constants& out, const LogContent& log) {
    if (log.fingerprint.kind == "cpu") {
        out["overlap_slowdown"] = {2, "1",
                                   "the lanes of a rank share its cores: what runs beside a kernel takes its time "
                                   "from it, and the kernel takes as much longer"};
        return;
    }
    std::vector<double> slowdowns;
    for (const Record& r : log.records)
        if (r.failure.empty() && r.kernel_slowdown > 0 && is_beside_collective(r))
            slowdowns.push_back(r.kernel_slowdown);
    if (!slowdowns.empty())
        out["overlap_slowdown"] = {std::max(1.0, median_of(slowdowns).median), "1",
                                   fmt::format("measured: median of {} kernels beside collectives", slowdowns.size())};
    else if (!out.contains("overlap_slowdown"))
        out["overlap_slowdown"] = {1, "1", "no collective was measured beside a kernel"};
}

}  // namespace

Constants measured_constants(const LogContent& log) {
    const GpuFacts* facts = log.fingerprint.kind == "cuda" ? facts_of_device(log.fingerprint.device) : nullptr;
    Constants out = facts != nullptr ? constants_of(*facts) : Constants{};
    const Constants datasheet = out;
    set_peaks(out, log);
    for (const char* key : {"peak_half_flops", "peak_single_flops", "memory_bytes_per_second"})
        if (const auto known = datasheet.find(key); known != datasheet.end()) out[key] = known->second;
    set_sustained(out, log);
    set_overheads(out, log);
    set_overlap(out, log);
    if (log.fingerprint.kind == "cpu" && log.fingerprint.cache_bytes > 0)
        out["cache_bytes"] = {static_cast<double>(log.fingerprint.cache_bytes), "B",
                              "the last level of caches, as the system says"};
    return out;
}

}  // namespace orrery::calibrate
