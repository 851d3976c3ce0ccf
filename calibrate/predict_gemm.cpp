#include "calibrate/predict_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Dtype;

kernels::Gemm shape_of(const GemmPoint& p, Dtype dtype) { return {dtype, 1, p.m, p.n, p.k}; }

std::size_t index_of(const std::vector<double>& axis, std::uint32_t value) {
    const auto found = std::lower_bound(axis.begin(), axis.end(), std::log(value) - 1e-9);
    return static_cast<std::size_t>(found - axis.begin());
}

/// Odd row counts take other kernels than multiples of 16, most of all for 8-bit operands.
bool aligned(double log_m) { return std::lround(std::exp(log_m)) % 16 == 0; }

/// The nearest known cells before and after `at` on one line of the grid: nearer counts more, as in linear
/// interpolation; a lone neighbour at an edge has a ninth of the confidence.
template <class Known, class Value>
void vote(const std::vector<double>& axis, std::size_t at, double confidence, Known known, Value value,
          std::vector<GemmVote>& votes) {
    std::ptrdiff_t low = static_cast<std::ptrdiff_t>(at) - 1;
    std::size_t high = at + 1;
    while (low >= 0 && !known(static_cast<std::size_t>(low))) --low;
    while (high < axis.size() && !known(high)) ++high;
    const bool has_low = low >= 0, has_high = high < axis.size();
    const auto below = static_cast<std::size_t>(std::max<std::ptrdiff_t>(low, 0));
    if (has_low && has_high) {
        const double span = axis[high] - axis[below], t = (axis[at] - axis[below]) / span;
        votes.push_back({value(below), (1 - t) * confidence / (span * span)});
        votes.push_back({value(high), t * confidence / (span * span)});
    } else if (has_low || has_high) {
        const std::size_t only = has_low ? below : high;
        const double span = 3 * std::abs(axis[at] - axis[only]);
        votes.push_back({value(only), confidence / (span * span)});
    }
}

double weighted_median(std::vector<GemmVote>& votes) {
    std::sort(votes.begin(), votes.end(), [](const GemmVote& x, const GemmVote& y) { return x.value < y.value; });
    double half = 0, sum = 0;
    for (const auto& v : votes) half += v.weight / 2;
    for (const auto& v : votes)
        if ((sum += v.weight) >= half) return v.value;
    return 0.0;
}

}  // namespace

GemmLookup::GemmLookup(const GemmTable& table, const Machine& machine) : table_(&table) {
    std::vector<double> ratios;
    ratios.reserve(table.points.size());
    std::set<std::uint32_t> m, n, k;
    for (const auto& p : table.points) {
        const kernels::Gemm gemm = shape_of(p, table.dtype);
        ratios.push_back(std::log(p.seconds / gemm_roofline(gemm, machine)));
        best_rate_ = std::max(best_rate_, kernels::flops(gemm) / p.seconds);
        m.insert(p.m), n.insert(p.n), k.insert(p.k);
    }
    if (2 * table.points.size() > m.size() * n.size() * k.size()) {
        for (const auto value : m) m_.push_back(std::log(value));
        for (const auto value : n) n_.push_back(std::log(value));
        for (const auto value : k) k_.push_back(std::log(value));
        build_grid(ratios);
    } else {
        ratio_.assign(ratios.begin(), ratios.end());
        build_scatter();
        if (is_scattered(table)) kriging_.emplace(table, machine);
    }
}

void GemmLookup::build_grid(const std::vector<double>& ratios) {
    row_.assign(m_.size() * n_.size() * k_.size(), -1);
    ratio_.assign(row_.size(), 0.0F);
    for (std::size_t i = 0; i < ratios.size(); ++i) {
        const auto& p = table_->points[i];
        const std::size_t at = cell(index_of(m_, p.m), index_of(n_, p.n), index_of(k_, p.k));
        row_[at] = static_cast<std::int32_t>(i);
        ratio_[at] = static_cast<float>(ratios[i]);
    }
    fill();
}

void GemmLookup::fill() {
    for (std::size_t a = 0; a < m_.size(); ++a)
        for (std::size_t b = 0; b < n_.size(); ++b)
            for (std::size_t c = 0; c < k_.size(); ++c)
                if (row_[cell(a, b, c)] < 0) ratio_[cell(a, b, c)] = static_cast<float>(guess(a, b, c));
}

/// The ratio changes less along k than along n (fewer tile effects), so k counts double.
void GemmLookup::vote_at(std::size_t a, std::size_t b, std::size_t c, double confidence,
                         std::vector<GemmVote>& votes) const {
    vote(
        n_, b, confidence, [&](std::size_t i) { return row_[cell(a, i, c)] >= 0; },
        [&](std::size_t i) { return ratio_[cell(a, i, c)]; }, votes);
    vote(
        k_, c, 2 * confidence, [&](std::size_t i) { return row_[cell(a, b, i)] >= 0; },
        [&](std::size_t i) { return ratio_[cell(a, b, i)]; }, votes);
}

/// Weighted median over the neighbours along n and along k, at this m and the two on each side that are aligned like
/// it: single slow readings, which the tables are full of, do not pull it.
double GemmLookup::guess(std::size_t a, std::size_t b, std::size_t c) const {
    constexpr int reach = 2;
    constexpr double same_size = 0.75;  // within a factor of 2.1 in m
    std::vector<GemmVote> votes;
    vote_at(a, b, c, 1.0, votes);
    for (const int direction : {-1, 1}) {
        int found = 0;
        for (std::size_t i = a + direction; i < m_.size() && found < reach; i += direction) {
            if (std::abs(m_[i] - m_[a]) > same_size) break;
            if (aligned(m_[i]) != aligned(m_[a])) continue;
            vote_at(i, b, c, 1 / (1 + 0.5 * ++found), votes);
        }
    }
    return weighted_median(votes);
}

/// Each point twice, as (m, n, k) and (n, m, k): the transposed product costs the same.
void GemmLookup::build_scatter() {
    for (const auto& p : table_->points)
        scatter_.add(
            {static_cast<float>(std::log(p.m)), static_cast<float>(std::log(p.n)), static_cast<float>(std::log(p.k))});
    for (const auto& p : table_->points)
        scatter_.add(
            {static_cast<float>(std::log(p.n)), static_cast<float>(std::log(p.m)), static_cast<float>(std::log(p.k))});
}

double GemmLookup::log_ratio(double m, double n, double k, bool& outside) const {
    if (m_.empty()) {
        const auto weights = scatter_.weights(
            {static_cast<float>(std::log(m)), static_cast<float>(std::log(n)), static_cast<float>(std::log(k))});
        double sum = 0;
        for (const auto& w : weights) sum += w.weight * ratio_[w.index % ratio_.size()];
        outside = weights.size() > 1;
        return sum;
    }
    const Position pm = locate(m_, std::log(m)), pn = locate(n_, std::log(n)), pk = locate(k_, std::log(k));
    outside = pm.outside || pn.outside || pk.outside;
    double sum = 0;
    for (std::size_t corner = 0; corner < 8; ++corner) {
        const std::size_t a = corner & 1U, b = (corner >> 1U) & 1U, c = corner >> 2U;
        const double weight = (a != 0 ? pm.t : 1 - pm.t) * (b != 0 ? pn.t : 1 - pn.t) * (c != 0 ? pk.t : 1 - pk.t);
        if (weight > 0) sum += weight * ratio_[cell(pm.low + a, pn.low + b, pk.low + c)];
    }
    return sum;
}

/// Of the nearest rows: what caches hold changes the time of like shapes alike.
double GemmLookup::half_width(double m, double n, double k) const {
    double sum = 0;
    for (const auto& w : sources(m, n, k)) sum += w.weight * table_->points[w.index].half_width;
    return sum;
}

Estimate GemmLookup::estimate(const kernels::Gemm& gemm, const Machine& machine) const {
    const double m = static_cast<double>(gemm.batch) * gemm.m, n = gemm.n, k = gemm.k;
    const double caches = half_width(m, n, k);
    if (const auto found = kriged(gemm, machine))
        return {found->seconds, found->outside, std::hypot(found->uncertainty, caches), caches};
    bool outside = false;
    const double ratio = log_ratio(m, n, k, outside);
    return {gemm_roofline(gemm, machine) * std::exp(ratio), outside, caches, caches};
}

std::optional<ScatteredTimes::Answer> GemmLookup::kriged(const kernels::Gemm& gemm, const Machine& machine) const {
    if (!kriging_) return std::nullopt;
    return kriging_->at(gemm, machine);
}

std::vector<Weight> GemmLookup::sources(double m, double n, double k) const {
    std::vector<Weight> out;
    if (m_.empty()) {
        out = scatter_.weights(
            {static_cast<float>(std::log(m)), static_cast<float>(std::log(n)), static_cast<float>(std::log(k))});
        for (auto& w : out) w.index %= ratio_.size();
    } else {
        const Position pm = locate(m_, std::log(m)), pn = locate(n_, std::log(n)), pk = locate(k_, std::log(k));
        for (std::size_t corner = 0; corner < 8; ++corner) {
            const std::size_t a = corner & 1U, b = (corner >> 1U) & 1U, c = corner >> 2U;
            const double weight = (a != 0 ? pm.t : 1 - pm.t) * (b != 0 ? pn.t : 1 - pn.t) * (c != 0 ? pk.t : 1 - pk.t);
            if (weight <= 0) continue;
            const std::int32_t row = row_[cell(pm.low + a, pn.low + b, pk.low + c)];
            if (row >= 0) out.push_back({static_cast<std::size_t>(row), weight});
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const Weight& x, const Weight& y) { return x.weight > y.weight; });
    return out;
}

GemmPredictor::GemmPredictor(const Profile& profile)
    : batched_(&profile.batched_gemm),
      machine_(profile.constants),
      sustained_(profile.constants.at("sustained_gemm").value),
      sustained_single_(constant_or(profile.constants, "sustained_single", sustained_)),
      sustained_fp8_(constant_or(profile.constants, "sustained_fp8", sustained_)),
      sustained_fp4_(constant_or(profile.constants, "sustained_fp4", sustained_fp8_)),
      short_repeats_(profile.constants.contains("short_repeats")),
      unaligned_(constant_or(profile.constants, "unaligned_gemm", 1)),
      partly_aligned_(constant_or(profile.constants, "partly_aligned_gemm", 1)),
      profile_name_(profile.name) {
    for (const auto& table : profile.gemm) tables_.emplace_back(table, machine_);
}

/// The table of the same format and pass, else of the same format, else of the other 16-bit format where it has the
/// same peak (not on CPUs), else (fp4) of fp8, else a 16-bit table (its efficiency then applies to this format's own
/// peak), else any; forward passes before others.
const GemmLookup& GemmPredictor::lookup(const kernels::Gemm& gemm, bool& exact) const {
    const auto first = [&](auto fits) -> const GemmLookup* {
        for (const auto& t : tables_)
            if (t.table().pass == gemm.pass && fits(t.table().dtype)) return &t;
        for (const auto& t : tables_)
            if (t.table().pass == kernels::GemmPass::forward && fits(t.table().dtype)) return &t;
        for (const auto& t : tables_)
            if (fits(t.table().dtype)) return &t;
        return nullptr;
    };
    exact = true;
    if (const auto* same = first([&](Dtype d) { return d == gemm.dtype; })) return *same;
    const double peak = machine_.peak(gemm.dtype);
    if (const auto* like =
            first([&](Dtype d) { return is_half(d) && is_half(gemm.dtype) && machine_.peak(d) == peak; }))
        return *like;
    exact = false;
    if (const auto* fp8 = first([&](Dtype d) { return d == Dtype::fp8 && gemm.dtype == Dtype::fp4; })) return *fp8;
    if (const auto* half = first(kernels::is_half)) return *half;
    if (const auto* any = first([](Dtype) { return true; })) return *any;
    throw Error(fmt::format("profile \"{}\" has no GEMM table", profile_name_),
                "measure one, or import another profile");
}

/// The product of a wider format that costs what an fp8 or fp4 product does where no table of these exists: the same
/// output, and along k half as many elements of twice the size, so that every tile moves the same bytes and takes the
/// same cycles. Prologue, epilogue and waves, which do not get faster in fp8, keep their weight.
kernels::Gemm GemmPredictor::stand_in(const kernels::Gemm& gemm) const {
    bool exact = false;
    const Dtype table = lookup(gemm, exact).table().dtype;
    if (!kernels::is_narrow(gemm.dtype) || exact || !(is_half(table) || table == Dtype::fp8)) return gemm;
    const std::uint32_t fewer = gemm.dtype == Dtype::fp4 && is_half(table) ? 4 : 2;
    return {table, gemm.batch, gemm.m, gemm.n, std::max(1U, gemm.k / fewer), gemm.pass};
}

const BatchedGemmPoint* GemmPredictor::measured(const kernels::Gemm& gemm) const {
    for (const BatchedGemmTable& table : *batched_)
        if (table.dtype == gemm.dtype && table.pass == gemm.pass)
            for (const BatchedGemmPoint& p : table.points)
                if (p.batch == gemm.batch && p.m == gemm.m && p.n == gemm.n && p.k == gemm.k) return &p;
    return nullptr;
}

Estimate GemmPredictor::at_table_clock(const kernels::Gemm& wanted) const {
    if (const BatchedGemmPoint* const own = measured(wanted)) {
        const double caches = own->half_width;
        return {own->seconds, false, caches, caches};
    }
    bool exact = false;
    const GemmLookup& table = lookup(wanted, exact);
    Estimate estimate = table.estimate(stand_in(wanted), machine_);
    if (wanted.batch > 1)
        estimate.derived = "batched products from single ones";
    else if (!exact)
        estimate.derived = "products from those of another format";
    return estimate;
}

double GemmPredictor::sustained(Dtype table) const {
    switch (table) {
        case Dtype::fp32: return sustained_single_;
        case Dtype::fp8: return sustained_fp8_;
        case Dtype::fp4: return sustained_fp4_;
        case Dtype::tf32:
        case Dtype::fp16:
        case Dtype::bf16: break;
    }
    return sustained_;
}

/// From Ampere on tensor cores are fed by copies of 4, 8 or 16 bytes that run beside them (PTX ISA, cp.async). A row of
/// 16-bit elements that begins between two words cannot be copied so, and products with one go to Turing's kernels.
/// From Hopper on the tensor memory accelerator feeds them, whose rows begin at 16 bytes (CUDA driver API,
/// cuTensorMapEncodeTiled): others go to Ampere's kernels.
double GemmPredictor::unaligned(const kernels::Gemm& gemm) const {
    if (!is_half(gemm.dtype)) return 1;
    const auto rows = kernels::row_elements(gemm);
    const auto any_beside = [&](std::uint32_t multiple) {
        return std::ranges::any_of(rows, [=](std::uint32_t elements) { return elements % multiple != 0; });
    };
    if (!any_beside(8) || measured(gemm) != nullptr) return 1;
    return 1 / (any_beside(2) ? unaligned_ : partly_aligned_);
}

double GemmPredictor::spared(const kernels::Gemm& gemm) const {
    const double all = machine_.multiprocessors, kept = all - gemm.spared;
    return kept > 0 ? all / kept : 1;
}

Estimate GemmPredictor::estimate(const kernels::Gemm& gemm) const {
    Estimate estimate = at_table_clock(gemm);
    bool exact = false;
    const GemmLookup& table = lookup(gemm, exact);
    const kernels::Gemm ran = stand_in(gemm);
    const double best = table.best_rate() * machine_.peak(ran.dtype) / machine_.peak(table.table().dtype);
    const double share = sustained(table.table().dtype);
    const double unaligned_rows = unaligned(gemm), longer = unaligned_rows * spared(gemm);
    if (unaligned_rows > 1) estimate.derived = "products of rows between words from those of aligned ones";
    if (short_repeats_ && is_half(table.table().dtype)) estimate.seconds /= share;
    const double floor = sustained_floor(kernels::flops(ran), best, share);
    estimate.limited = {longer * estimate.seconds, longer * floor * share, share};
    estimate.seconds = longer * std::max(estimate.seconds, floor);
    return estimate;
}

std::string GemmPredictor::explain_rows(const GemmLookup& table, const kernels::Gemm& ran) const {
    const auto kriged = table.kriged(ran, machine_);
    std::string out = kriged ? to_text(*kriged) : "";
    double known = 0;
    std::set<std::size_t> printed;
    for (const auto& w : table.sources(static_cast<double>(ran.batch) * ran.m, ran.n, ran.k)) {
        known += w.weight;
        if (kriged && !printed.insert(w.index).second) continue;  // near as it is and transposed
        const auto& p = table.table().points[w.index];
        out += to_text(w, fmt::format("{}x{}x{}", p.m, p.n, p.k), p.seconds, kriged.has_value());
    }
    if (known < 0.9995) out += fmt::format("  weight {:.3f} from cells filled from their neighbours\n", 1 - known);
    return out;
}

std::string GemmPredictor::explain(const kernels::Gemm& gemm) const {
    bool exact = false;
    const GemmLookup& table = lookup(gemm, exact);
    const kernels::Gemm ran = stand_in(gemm);
    const Estimate raw = at_table_clock(gemm), sustained = estimate(gemm);
    std::string out =
        fmt::format("{}: {}\n  table gemm {} ({})\n", kernels::to_text(gemm), format_seconds(sustained.seconds),
                    kernels::name(table.table().dtype), table.table().provenance.origin);
    if (ran.dtype != gemm.dtype)
        out += fmt::format("  no table for {}: as {}, fewer elements along k, larger in proportion\n",
                           kernels::name(gemm.dtype), kernels::to_text(ran));
    else if (!exact)
        out += fmt::format("  no table for {}: efficiency of {} on its own peak\n", kernels::name(gemm.dtype),
                           kernels::name(table.table().dtype));
    if (measured(gemm) != nullptr) return out + "  this very product was measured\n";
    if (gemm.batch > 1)
        out += fmt::format("  batch {} folded into m for the efficiency; tiles and traffic of the batched product\n",
                           gemm.batch);
    out += explain_rows(table, ran);
    const double longer = unaligned(gemm), fewer = spared(gemm);
    if (longer > 1) out += fmt::format("  rows begin between words of four bytes: x{:.2f}\n", longer);
    if (fewer > 1) out += fmt::format("  on {} multiprocessors fewer: x{:.2f}\n", gemm.spared, fewer);
    out += fmt::format("  roofline {}, at the table's clock {}, sustained clock x{:.3f}{}\n",
                       format_seconds(gemm_roofline(gemm, machine_)), format_seconds(raw.seconds),
                       sustained.seconds / raw.seconds / longer / fewer, raw.extrapolated ? ", extrapolated" : "");
    return out;
}

}  // namespace orrery::calibrate
