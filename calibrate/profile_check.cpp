#include "calibrate/profile_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibrate/cost_fit.hpp"
#include "calibrate/profile_json.hpp"
#include "calibrate/roofline.hpp"
#include "kernels/operands.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Dtype;

[[noreturn]] void fail(const std::string& pointer, const std::string& message, const std::string& hint) {
    throw Error("", pointer, message, hint.empty() ? "calibrate/README.md describes the profile format" : hint);
}

bool is_positive(double value) { return std::isfinite(value) && value > 0; }

void check_positive(double value, const std::string& pointer, std::string_view what) {
    if (is_positive(value)) return;
    fail(pointer, fmt::format("{} is {}; it must be finite and positive", what, value), "measure this point again");
}

/// Of a table, which has tens of thousands: its pointer is written where it is refused.
struct Row {
    const std::string& table;
    std::size_t number;
    [[nodiscard]] std::string pointer() const { return fmt::format("{}/rows/{}", table, number); }
};

void check_positive(double value, const Row& row, std::string_view what) {
    if (!is_positive(value)) check_positive(value, row.pointer(), what);
}

auto shape(const GemmPoint& p) { return p.shape(); }
auto shape(const BatchedGemmPoint& p) { return std::tuple(p.batch, p.m, p.n, p.k); }
auto shape(const AttentionPoint& p) { return p.shape(); }
auto shape(const ConvolutionPoint& p) { return convolution_key(p.shape); }
auto shape(const PointwisePoint& p) { return std::tuple(p.cols, p.bytes); }
auto shape(const CollectivePoint& p) { return std::tuple(p.bytes); }

/// Least time of anything: launch and start-up, which small shapes are made of.
constexpr double latency = 5e-6;

/// Time over the device's ideal time plus a latency: what rows of a table share, whatever their shape.
class Cost {
public:
    Cost(const Profile& profile, Dtype dtype) : machine_(profile.constants), flops_per_second_(machine_.peak(dtype)) {}

    double operator()(const GemmPoint& p) const {
        const kernels::Gemm gemm{Dtype::bf16, 1, p.m, p.n, p.k};
        return p.seconds / ideal(kernels::flops(gemm), kernels::bytes(gemm));
    }
    double operator()(const AttentionPoint& p) const {
        const double square = static_cast<double>(p.seq) * p.seq;
        return p.seconds / ideal(2.0 * p.batch * p.heads * square * p.head_dim, 0);
    }
    double operator()(const ConvolutionPoint& p) const {
        return p.seconds / ideal(kernels::flops(p.shape), kernels::bytes(p.shape));
    }
    double operator()(const PointwisePoint& p) const { return p.bytes / p.bytes_per_second / ideal(0, p.bytes); }
    /// Links are a good deal slower than memory.
    double operator()(const CollectivePoint& p) const { return p.seconds / ideal(0, 10 * p.bytes); }

private:
    [[nodiscard]] double ideal(double flops, double bytes) const {
        return latency + flops / flops_per_second_ + bytes / machine_.bytes_per_second;
    }

    Machine machine_;
    double flops_per_second_;
};

template <class Point>
void check_order(const std::vector<Point>& points, const std::string& pointer) {
    if (points.empty()) fail(pointer, "the table is empty", "remove the table or measure it");
    for (std::size_t i = 1; i < points.size(); ++i) {
        if (shape(points[i - 1]) < shape(points[i])) continue;
        const bool same = shape(points[i - 1]) == shape(points[i]);
        fail(Row{pointer, i}.pointer(), same ? "repeats the shape of the row before" : "rows out of order",
             "sort the rows by their dimensions and keep one row per shape");
    }
}

struct Outlier {
    std::size_t row;
    std::string what;
};

/// A row is an outlier when it lies outlier_factor away from both rows beside it, on the same side.
template <class Point>
std::optional<Outlier> first_outlier(const std::vector<Point>& points, const Cost& cost) {
    if (points.size() < 3) return std::nullopt;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double here = cost(points[i]);
        const double before = cost(points[i == 0 ? 2 : i - 1]),
                     after = cost(points[i + 1 == points.size() ? i - 2 : i + 1]);
        const double over = here / std::max(before, after), under = std::min(before, after) / here;
        if (std::max(over, under) < outlier_factor) continue;
        return Outlier{i, fmt::format("is {:.0f} times {} than the rows beside it", std::max(over, under),
                                      over > under ? "more" : "less")};
    }
    return std::nullopt;
}

template <class Point>
void check_outliers(const std::vector<Point>& points, const std::string& pointer, const Cost& cost) {
    if (const auto outlier = first_outlier(points, cost))
        fail(Row{pointer, outlier->row}.pointer(), outlier->what,
             "a damaged reading or a wrong unit: measure this point again");
}

template <class Point>
void drop_outliers(std::vector<Point>& points, const std::string& table, const Cost& cost,
                   std::vector<std::string>& dropped) {
    while (const auto outlier = first_outlier(points, cost)) {
        dropped.push_back(fmt::format("{}, row {}: {}", table, outlier->row, outlier->what));
        points.erase(points.begin() + static_cast<std::ptrdiff_t>(outlier->row));
    }
}

/// A share of the time, below one: the time itself is positive.
template <class Point>
void check_half_widths(const std::vector<Point>& points, const std::string& pointer) {
    for (std::size_t i = 0; i < points.size(); ++i)
        if (!(points[i].half_width >= 0 && points[i].half_width < 1))
            fail(Row{pointer, i}.pointer(),
                 fmt::format("half_width is {}; it must lie in [0, 1)", points[i].half_width),
                 "measure this point again");
}

template <class Point>
void check_table(const std::vector<Point>& points, const std::string& pointer, const Cost& cost) {
    check_order(points, pointer);
    check_outliers(points, pointer, cost);
    check_half_widths(points, pointer);
}

void check_gemm(const Profile& profile) {
    for (std::size_t t = 0; t < profile.gemm.size(); ++t) {
        const std::string pointer = fmt::format("/gemm/{}", t);
        const auto& points = profile.gemm[t].points;
        for (std::size_t i = 0; i < points.size(); ++i) {
            const Row row{pointer, i};
            const GemmPoint& p = points[i];
            if (!is_positive(p.seconds)) check_positive(p.seconds, row, fmt::format("time of {}x{}x{}", p.m, p.n, p.k));
            if (p.m * static_cast<double>(p.n) * p.k == 0)
                fail(row.pointer(), "a dimension is zero", "m, n and k are at least 1");
        }
        check_table(points, pointer, Cost(profile, profile.gemm[t].dtype));
    }
}

/// A covariance needs positive lengths; costs are never negative.
template <class Table>
void check_scatter(const std::vector<Table>& tables, const char* section) {
    for (std::size_t t = 0; t < tables.size(); ++t) {
        if (!tables[t].scatter) continue;
        const ScatterSettings& s = *tables[t].scatter;
        const std::string pointer = fmt::format("/{}/{}/scatter", section, t);
        const bool settings =
            s.length > 0 && s.length < 1e3 && s.step >= 0 && s.step < 1e3 && s.noise >= 0 && s.noise < 1;
        const bool costs = std::ranges::all_of(s.trend, [](double cost) { return cost >= 0 && cost < 1e3; });
        if (!settings || !costs || (!s.trend.empty() && s.trend.size() != cost_terms))
            fail(pointer, "holds settings that no interpolation has", "take \"scatter\" out: it is chosen anew");
    }
}

void check_batched_gemm(const Profile& profile) {
    for (std::size_t t = 0; t < profile.batched_gemm.size(); ++t) {
        const std::string pointer = fmt::format("/batched_gemm/{}", t);
        const auto& points = profile.batched_gemm[t].points;
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto& p = points[i];
            const Row row{pointer, i};
            check_positive(p.seconds, row, "time");
            if (std::min({p.batch, p.m, p.n, p.k}) == 0)
                fail(row.pointer(), "a dimension is zero", "batch, m, n and k are at least 1");
        }
        check_order(points, pointer);
        check_half_widths(points, pointer);
    }
}

void check_attention(const Profile& profile) {
    for (std::size_t t = 0; t < profile.attention.size(); ++t) {
        const std::string pointer = fmt::format("/attention/{}", t);
        const auto& points = profile.attention[t].points;
        for (std::size_t i = 0; i < points.size(); ++i) {
            const auto& p = points[i];
            const Row row{pointer, i};
            check_positive(p.seconds, row, "time");
            if (std::min({p.batch, p.seq, p.heads, p.kv_heads, p.head_dim}) == 0)
                fail(row.pointer(), "a dimension is zero", "batch, seq, heads, kv_heads and head_dim are at least 1");
            if (p.heads % p.kv_heads != 0)
                fail(row.pointer(), fmt::format("{} heads are no multiple of {} kv_heads", p.heads, p.kv_heads),
                     "each key-value head serves as many heads");
        }
        check_table(points, pointer, Cost(profile, profile.attention[t].dtype.value_or(Dtype::bf16)));
    }
}

void check_convolution(const Profile& profile) {
    for (std::size_t t = 0; t < profile.convolution.size(); ++t) {
        const std::string pointer = fmt::format("/convolution/{}", t);
        const auto& points = profile.convolution[t].points;
        for (std::size_t i = 0; i < points.size(); ++i) {
            const Row row{pointer, i};
            check_positive(points[i].seconds, row, "time");
            try {
                (void)kernels::operands(points[i].shape);
            } catch (const Error& error) {
                fail(row.pointer(), error.message(), error.hint());
            }
        }
        check_table(points, pointer, Cost(profile, profile.convolution[t].dtype));
    }
}

void check_pointwise(const Profile& profile) {
    for (std::size_t t = 0; t < profile.pointwise.size(); ++t) {
        const std::string pointer = fmt::format("/pointwise/{}", t);
        const auto& points = profile.pointwise[t].points;
        for (std::size_t i = 0; i < points.size(); ++i) {
            check_positive(points[i].bytes, Row{pointer, i}, "size");
            check_positive(points[i].bytes_per_second, Row{pointer, i}, "bandwidth");
        }
        check_table(points, pointer, Cost(profile, Dtype::bf16));
    }
}

void check_transfers(const Profile& profile, const std::vector<CollectivePoint>& points, const std::string& pointer) {
    for (std::size_t i = 0; i < points.size(); ++i) {
        check_positive(points[i].bytes, Row{pointer, i}, "size");
        check_positive(points[i].seconds, Row{pointer, i}, "time");
    }
    check_table(points, pointer, Cost(profile, Dtype::bf16));
}

void check_collectives(const Profile& profile) {
    for (std::size_t t = 0; t < profile.collectives.size(); ++t) {
        const std::string pointer = fmt::format("/collectives/{}", t);
        const auto& [kind, ranks, provenance, points, nodes, nvlink] = profile.collectives[t];
        if (ranks < 2) fail(pointer + "/ranks", "a collective has at least 2 ranks", "");
        if (nodes == 0 || ranks % nodes != 0)
            fail(pointer + "/nodes", fmt::format("{} nodes cannot hold {} ranks, as many each", nodes, ranks),
                 "measure with as many ranks on every node");
        constexpr double most = 1e13;  // bytes per second
        if (!(nvlink >= 0 && nvlink <= most) || (nvlink > 0 && nodes > 1))
            fail(pointer + "/nvlink_GB_per_s", "is the NVLinks of one node's GPUs, from 0 to 10000 GB/s",
                 nodes > 1 ? "leave it out: these ranks are on several nodes" : "give GB/s, one direction");
        check_transfers(profile, points, pointer);
    }
}

void check_copies(const Profile& profile) {
    for (std::size_t t = 0; t < profile.copies.size(); ++t)
        check_transfers(profile, profile.copies[t].points, fmt::format("/copies/{}", t));
}

void check_overlap(const Profile& profile) {
    for (std::size_t i = 0; i < profile.overlap.size(); ++i) {
        check_positive(profile.overlap[i].kernel_slowdown, fmt::format("/overlap/{}", i), "kernel_slowdown");
        check_positive(profile.overlap[i].beside_slowdown, fmt::format("/overlap/{}", i), "beside_slowdown");
    }
}

void check_not_negative(double value, const std::string& pointer, std::string_view what) {
    if (!(std::isfinite(value) && value >= 0))
        fail(pointer, fmt::format("{} is {}; it must be finite and not negative", what, value), "measure it again");
}

void check_conditions(const Profile& profile) {
    for (const auto& [suite, noise] : profile.noise) {
        check_not_negative(noise.median, "/noise/" + suite, "median");
        check_not_negative(noise.p90, "/noise/" + suite, "p90");
    }
    if (!profile.load) return;
    check_not_negative(profile.load->before, "/load", "before");
    check_not_negative(profile.load->after, "/load", "after");
}

constexpr std::string_view split_constant = "dispatch_seconds";

void check_required(const Profile& profile) {
    for (const KnownConstant& known : known_constants) {
        if (!known.required || profile.constants.contains(std::string(known.name))) continue;
        const bool older = known.name == "launch_seconds" && profile.constants.contains(std::string(split_constant));
        fail(
            "/constants", fmt::format("\"{}\" is missing", known.name),
            older
                ? "this profile is from before dispatch_seconds was split: import or calibrate it again, or, if it was "
                  "measured with orrery calibrate, rename dispatch_seconds to launch_seconds"
                : "calibrate/profile.hpp lists the required constants");
    }
}

void check_constant(const std::string& key, const Constant& constant) {
    const std::string pointer = "/constants/" + key;
    const auto known = std::ranges::find(known_constants, std::string_view(key), &KnownConstant::name);
    if (known == known_constants.end()) {
        std::vector<std::string_view> names;
        for (const KnownConstant& each : known_constants) names.push_back(each.name);
        fail(pointer, "is not a constant that predictions use", "nearest: " + join(nearest(key, names)));
    }
    if (!(constant.value >= known->least && constant.value <= known->most))
        fail(pointer,
             fmt::format("{} {} is beyond belief: devices have {} to {}", constant.value, constant.unit, known->least,
                         known->most),
             "in SI units (seconds, bytes, flop/s)? else measure it again");
    if (constant.origin.empty()) fail(pointer, "has no origin", "say where the number comes from");
}

void check_constants(const Profile& profile) {
    check_required(profile);
    for (const auto& [key, constant] : profile.constants) check_constant(key, constant);
}

}  // namespace

std::vector<std::string> drop_outliers(Profile& profile) {
    std::vector<std::string> dropped;
    const auto cost = [&](Dtype dtype) { return Cost(profile, dtype); };
    for (auto& t : profile.gemm)
        drop_outliers(t.points, fmt::format("gemm {}", kernels::name(t.dtype)), cost(t.dtype), dropped);
    for (auto& t : profile.attention)
        drop_outliers(t.points, t.backward ? "attention backward" : "attention", cost(t.dtype.value_or(Dtype::bf16)),
                      dropped);
    for (auto& t : profile.convolution)
        drop_outliers(t.points, fmt::format("convolution {}", kernels::name(t.pass)), cost(t.dtype), dropped);
    for (auto& t : profile.pointwise)
        drop_outliers(t.points, std::string(kernels::name(t.kind)), cost(Dtype::bf16), dropped);
    for (auto& t : profile.collectives)
        drop_outliers(t.points, fmt::format("{} among {}", kernels::name(t.kind), t.ranks), cost(Dtype::bf16), dropped);
    for (auto& t : profile.copies)
        drop_outliers(t.points, fmt::format("copy {}", kernels::name(t.kind)), cost(Dtype::bf16), dropped);
    return dropped;
}

void check_profile(const Profile& profile) {
    if (profile.version != profile_version)
        fail("/version", fmt::format("version {} is not supported", profile.version),
             fmt::format("this program reads version {}: make the profile again", profile_version));
    if (profile.name.empty()) fail("/name", "is empty", "give the profile a name");
    check_constants(profile);
    check_gemm(profile);
    check_scatter(profile.gemm, "gemm");
    check_scatter(profile.attention, "attention");
    check_batched_gemm(profile);
    check_attention(profile);
    check_convolution(profile);
    check_pointwise(profile);
    check_collectives(profile);
    check_copies(profile);
    check_overlap(profile);
    check_conditions(profile);
}

}  // namespace orrery::calibrate
