#include "calibrate/measure/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "calibrate/measure/measured_constants.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/profile_check.hpp"
#include "calibrate/profile_json.hpp"
#include "calibrate/scatter_settings.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Attention;
using kernels::Gemm;
using kernels::Kernel;
using kernels::Pointwise;

/// "1980 MHz at the start, 1410 to 1980 MHz under load, power cap at 31 of 400 points".
std::string clocks_of(const LogContent& log) {
    if (log.fingerprint.core_hertz == 0) return "not told by the device";
    std::string text = fmt::format("{:.0f} MHz at the start", log.fingerprint.core_hertz / 1e6);
    std::size_t capped = 0;
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const Record& r : log.records) {
        if (r.capped > 0) ++capped;
        if (r.core_hertz == 0) continue;
        least = std::min(least, r.core_hertz);
        most = std::max(most, r.core_hertz);
    }
    if (capped == 0) return text;
    return text + fmt::format(", {:.0f} to {:.0f} MHz under load, power cap at {} of {} points", least / 1e6,
                              most / 1e6, capped, log.records.size());
}

Provenance provenance(const LogContent& log) {
    const Fingerprint& f = log.fingerprint;
    return {f.device,
            clocks_of(log),
            f.date,
            f.communicator.empty() ? f.software : f.software + ", " + f.communicator,
            "measured by orrery calibrate",
            "the owner of the device decides"};
}

template <class Shape>
const Shape* kernel_of(const Record& r) {
    const auto* kernel = std::get_if<Kernel>(&r.subject);
    return kernel == nullptr ? nullptr : std::get_if<Shape>(kernel);
}

/// Kernels were timed one behind the other: the gap between them is a constant of its own (set_overheads).
double without_gap(double seconds, double gap) { return seconds - gap; }

void add_batched(Profile& profile, const LogContent& log, const Gemm& g, const Record& r, double gap) {
    auto& tables = profile.batched_gemm;
    auto table = std::ranges::find_if(tables, [&](const auto& t) { return t.dtype == g.dtype && t.pass == g.pass; });
    if (table == tables.end()) table = tables.insert(tables.end(), {g.dtype, provenance(log), {}, g.pass});
    auto& points = table->points;
    points.push_back(
        {g.batch, g.m, g.n, g.k, static_cast<float>(without_gap(r.seconds, gap)), static_cast<float>(r.half_width)});
    std::ranges::sort(points, {}, [](const BatchedGemmPoint& p) { return std::tuple(p.batch, p.m, p.n, p.k); });
}

/// Rows that do not begin at 16 bytes make the library of a GPU take other kernels: the neighbours of such a product
/// would be predicted from it.
bool stands_apart(const LogContent& log, const Gemm& g) {
    constexpr std::uint64_t bytes = 16;
    return log.fingerprint.kind != "cpu" && std::ranges::any_of(kernels::row_elements(g), [&](std::uint64_t elements) {
               return elements * kernels::size_of(g.dtype) % bytes != 0;
           });
}

void add_gemm(Profile& profile, const LogContent& log, double gap) {
    std::map<std::pair<kernels::Dtype, kernels::GemmPass>, GemmTable> tables;
    for (const Record& r : log.records) {
        const auto* g = kernel_of<Gemm>(r);
        if (g == nullptr || !r.failure.empty()) continue;
        if (g->batch > 1) {
            add_batched(profile, log, *g, r, gap);
            continue;
        }
        if (stands_apart(log, *g) && r.suite != "points") continue;
        auto& table = tables[{g->dtype, g->pass}];
        table.dtype = g->dtype;
        table.pass = g->pass;
        table.points.push_back(
            {g->m, g->n, g->k, static_cast<float>(without_gap(r.seconds, gap)), static_cast<float>(r.half_width)});
    }
    for (auto& [key, table] : tables) {
        std::ranges::sort(table.points, {}, [](const GemmPoint& p) { return std::tuple(p.m, p.n, p.k); });
        table.provenance = provenance(log);
        profile.gemm.push_back(std::move(table));
    }
}

void add_attention(Profile& profile, const LogContent& log, double gap) {
    std::map<std::tuple<bool, bool, bool, kernels::Dtype>, AttentionTable> tables;
    for (const Record& r : log.records) {
        const auto* a = kernel_of<Attention>(r);
        // A table's rows have as many keys as queries and no window: others have the rate of these (predict_attention).
        if (a == nullptr || !r.failure.empty() || !a->plain()) continue;
        auto& table = tables[{a->dropout, a->backward, a->causal, a->dtype}];
        table.backward = a->backward;
        table.causal = a->causal;
        table.dtype = a->dtype;
        table.dropout = a->dropout;
        table.points.push_back({a->batch, a->seq, a->heads, a->kv_heads, a->head_dim,
                                static_cast<float>(without_gap(r.seconds, gap)), static_cast<float>(r.half_width)});
    }
    for (auto& [key, table] : tables) {
        std::ranges::sort(table.points, {}, &AttentionPoint::shape);
        table.provenance = provenance(log);
        profile.attention.push_back(std::move(table));
    }
}

void add_convolution(Profile& profile, const LogContent& log, double gap) {
    std::map<std::pair<kernels::Dtype, kernels::GemmPass>, ConvolutionTable> tables;
    for (const Record& r : log.records) {
        const auto* c = kernel_of<kernels::Convolution>(r);
        if (c == nullptr || !r.failure.empty()) continue;
        auto& table = tables[{c->dtype, c->pass}];
        table.dtype = c->dtype;
        table.pass = c->pass;
        table.points.push_back({*c, static_cast<float>(without_gap(r.seconds, gap)), static_cast<float>(r.half_width)});
    }
    for (auto& [key, table] : tables) {
        std::ranges::sort(table.points, {}, [](const ConvolutionPoint& p) { return convolution_key(p.shape); });
        table.provenance = provenance(log);
        profile.convolution.push_back(std::move(table));
    }
}

void add_pointwise(Profile& profile, const LogContent& log, double gap) {
    std::map<std::pair<kernels::PointwiseKind, kernels::Dtype>, PointwiseTable> tables;
    for (const Record& r : log.records) {
        const auto* p = kernel_of<Pointwise>(r);
        if (p == nullptr || !r.failure.empty()) continue;
        auto& table = tables[{p->kind, p->dtype}];
        table.kind = p->kind;
        table.dtype = p->dtype;
        const double bytes = kernels::bytes(Kernel(*p));
        table.points.push_back({bytes, p->cols, bytes / without_gap(r.seconds, gap), r.half_width});
    }
    for (auto& [key, table] : tables) {
        std::ranges::sort(table.points, {}, [](const PointwisePoint& p) { return std::tuple(p.cols, p.bytes); });
        table.provenance = provenance(log);
        profile.pointwise.push_back(std::move(table));
    }
}

void add_transfers(Profile& profile, const LogContent& log) {
    std::map<std::pair<kernels::CollectiveKind, std::uint32_t>, CollectiveTable> collectives;
    std::map<kernels::CopyKind, CopyTable> copies;
    for (const Record& r : log.records) {
        if (!r.failure.empty()) continue;
        if (const auto* c = std::get_if<CollectiveShape>(&r.subject)) {
            auto& table = collectives[{c->kind, c->ranks}];
            table.kind = c->kind;
            table.ranks = c->ranks;
            table.nodes = log.fingerprint.nodes;
            table.points.push_back({static_cast<double>(c->bytes), r.seconds, r.half_width});
        } else if (const auto* copy = std::get_if<CopyShape>(&r.subject)) {
            auto& table = copies[copy->kind];
            table.kind = copy->kind;
            table.points.push_back({static_cast<double>(copy->bytes), r.seconds, r.half_width});
        }
    }
    for (auto& [key, table] : collectives) {
        std::ranges::sort(table.points, {}, &CollectivePoint::bytes);
        table.provenance = provenance(log);
        profile.collectives.push_back(std::move(table));
    }
    for (auto& [key, table] : copies) {
        std::ranges::sort(table.points, {}, &CollectivePoint::bytes);
        table.provenance = provenance(log);
        profile.copies.push_back(std::move(table));
    }
}

std::map<std::string, Noise> noise_of(const LogContent& log) {
    std::map<std::string, Noise> out;
    std::map<std::string, std::vector<double>> spreads;
    for (const Record& r : log.records) {
        if (!r.failure.empty()) continue;
        Noise& noise = out[r.suite];
        ++noise.points;
        noise.throttled += r.throttled;
        noise.disturbed += r.disturbed;
        noise.unsettled += r.settled ? 0 : 1;
        spreads[r.suite].push_back(r.noise);
    }
    for (auto& [suite, spread] : spreads) {
        std::ranges::sort(spread);
        out[suite].median = spread[spread.size() / 2];
        out[suite].p90 = spread[spread.size() * 9 / 10];
    }
    return out;
}

/// A subject that was measured more than once counts as it was last: two points of one size have no curve.
LogContent last_of_each(const LogContent& log) {
    std::map<std::string, std::size_t> last;
    for (std::size_t i = 0; i < log.records.size(); ++i)
        if (log.records[i].failure.empty()) last[to_text(log.records[i].subject)] = i;
    LogContent once = log;
    once.records.clear();
    for (std::size_t i = 0; i < log.records.size(); ++i) {
        const auto found = last.find(to_text(log.records[i].subject));
        if (found == last.end() || found->second == i) once.records.push_back(log.records[i]);
    }
    return once;
}

}  // namespace

Assembled assemble(const LogContent& all, const std::string& name, double load_after) {
    const LogContent log = last_of_each(all);
    if (std::ranges::all_of(log.records, [](const Record& r) { return !r.failure.empty(); }))
        throw Error("nothing was measured", "give it more time (--budget) or other suites (--suite)");
    Profile profile;
    profile.name = name;
    profile.device = log.fingerprint.device;
    profile.made_by = "orrery calibrate";
    profile.constants = measured_constants(log);
    const double gap = profile.constants.at("kernel_gap_seconds").value;
    add_gemm(profile, log, gap);
    add_attention(profile, log, gap);
    add_convolution(profile, log, gap);
    add_pointwise(profile, log, gap);
    add_transfers(profile, log);
    for (const Record& r : log.records)
        if (const auto* o = std::get_if<OverlapShape>(&r.subject); o != nullptr && r.failure.empty())
            profile.overlap.push_back(
                {kernels::to_text(o->kernel), to_text(o->beside), r.kernel_slowdown, r.beside_slowdown});
    profile.noise = noise_of(log);
    profile.load = {log.fingerprint.load_before, load_after};
    std::vector<std::string> dropped = drop_outliers(profile);
    profile.held_out = held_out_errors(profile);
    choose_settings(profile);
    return {std::move(profile), std::move(dropped)};
}

}  // namespace orrery::calibrate
