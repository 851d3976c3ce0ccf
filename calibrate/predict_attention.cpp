#include "calibrate/predict_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"

namespace orrery::calibrate {

namespace {

/// The length of as many queries as keys, without a window, that has as many pairs: seq itself where it is so.
double square_length(const kernels::Attention& a) {
    return a.plain() ? a.seq : std::sqrt((a.causal ? 2 : 1) * a.pairs());
}

/// Coordinates in which near means alike: sequence length and parallelism decide most, the split of heads little.
/// Of a sequence so many times as short, by so many times the heads.
Scatter<5>::Point coordinates(const kernels::Attention& a, double shorter = 1, double wider = 1) {
    const double batch = a.batch, heads = wider * a.heads, kv_heads = wider * a.kv_heads, head_dim = a.head_dim;
    return {static_cast<float>(std::log(square_length(a) / shorter)), static_cast<float>(std::log(batch * heads)),
            static_cast<float>(0.3 * std::log(heads)), static_cast<float>(0.3 * std::log(heads / kv_heads)),
            static_cast<float>(3.0 * std::log(head_dim))};
}

}  // namespace

/// Without its own constant the backward pass runs at the forward pass's rate: 2.5 times its operations.
AttentionPredictor::AttentionPredictor(const Profile& profile)
    : machine_(profile.constants),
      backward_rate_(constant_or(profile.constants, "attention_backward_rate", 1.0)),
      dropout_forward_(constant_or(profile.constants, "attention_dropout_forward", 1.0)),
      dropout_backward_(constant_or(profile.constants, "attention_dropout_backward", 1.0)),
      sustained_(profile.constants.at("sustained_gemm").value),
      best_rate_(best_half_rate(profile, machine_)),
      profile_name_(profile.name) {
    for (const auto& table : profile.attention) {
        Lookup& lookup = tables_.emplace_back(Lookup{&table, {}, {}, {}});
        for (const auto& p : table.points) {
            lookup.scatter.add(coordinates(shape_of(p, table)));
            const double roofline = attention_roofline(shape_of(p, table), machine_);
            lookup.ratio.push_back(static_cast<float>(std::log(p.seconds / roofline)));
        }
        if (is_scattered(table)) lookup.kriging.emplace(table, machine_);
    }
}

/// Same pass, mask and dropout, else without a dropout the same pass and mask, the forward pass with the same mask, or
/// any; for each the same format, else any.
const AttentionPredictor::Lookup& AttentionPredictor::lookup(const kernels::Attention& a) const {
    const auto first = [&](auto fits) -> const Lookup* {
        const Lookup* any = nullptr;
        for (const auto& t : tables_) {
            if (!fits(*t.table)) continue;
            if (t.table->dtype == a.dtype) return &t;
            if (any == nullptr) any = &t;
        }
        return any;
    };
    const auto same = [&](const AttentionTable& x) { return x.backward == a.backward && x.causal == a.causal; };
    if (const auto* t = first([&](const auto& x) { return same(x) && x.dropout == a.dropout; })) return *t;
    if (const auto* t = first([&](const auto& x) { return same(x) && !x.dropout; })) return *t;
    if (const auto* t = first([&](const auto& x) { return !x.backward && x.causal == a.causal && !x.dropout; }))
        return *t;
    if (const auto* t = first([](const auto& x) { return !x.dropout; })) return *t;
    throw Error("", "/training/fused_attention",
                fmt::format("profile \"{}\" has no table of fused attention", profile_name_),
                "set it to false, or name another profile");
}

/// How many times as long as the longest of its head width; below 1 where one is longer.
double AttentionPredictor::beyond(const Lookup& lookup, const kernels::Attention& a) {
    std::uint32_t longest = 0;
    for (const AttentionPoint& p : lookup.table->points)
        if (p.head_dim == a.head_dim) longest = std::max(longest, p.seq);
    return square_length(a) / longest;
}

/// Blocks of queries fill the GPU, however few the heads, and each goes over more keys before it ends: a sequence
/// beyond the longest one is at least as quick as that many blocks of the longest, and as the longest itself.
double AttentionPredictor::ratio(const Lookup& table, const kernels::Attention& a, Answer& out) {
    const auto mean = [&](const auto& weights) {
        double ratio = 0;
        for (const auto& w : weights) ratio += w.weight * table.ratio[w.index];
        return ratio;
    };
    out.weights = table.scatter.weights(coordinates(a));
    double best = mean(out.weights);
    const double times = beyond(table, a);
    out.outside = out.weights.size() > 1 && times > 1;
    if (!out.outside || !std::isfinite(times)) return best;
    for (const double wider : {times, 1.0}) {
        auto weights = table.scatter.weights(coordinates(a, times, wider));
        const double ratio = mean(weights);
        if (ratio >= best) continue;
        best = ratio;
        out.weights = std::move(weights);
        out.rate_of = square_length(a) / times;
        out.as_blocks = wider > 1;
    }
    return best;
}

AttentionPredictor::Answer AttentionPredictor::answer(const kernels::Attention& a) const {
    const Lookup& table = lookup(a);
    Answer out{.lookup = &table, .derived = a.backward && !table.table->backward};
    const double above_roofline = ratio(table, a, out);
    for (const auto& w : out.weights) out.half_width += w.weight * table.table->points[w.index].half_width;
    kernels::Attention measured = a;
    measured.backward = table.table->backward;
    const bool measured_itself = out.weights.size() == 1;
    if (!table.kriging || measured_itself) {
        out.seconds = attention_roofline(measured, machine_) * std::exp(above_roofline);
        return out;
    }
    measured.seq = std::max(1U, static_cast<std::uint32_t>(std::lround(square_length(a))));
    measured.key_seq = measured.window = 0;
    out.kriged = table.kriging->at(measured, machine_);
    out.seconds = out.kriged->seconds;
    out.outside = out.kriged->outside;
    return out;
}

Estimate AttentionPredictor::at_table_clock(const kernels::Attention& a) const {
    const Answer found = answer(a);
    const bool other_mask = found.lookup->table->causal != a.causal;
    const double interpolation = found.kriged ? found.kriged->uncertainty : 0;
    Estimate estimate{found.seconds, found.outside, std::hypot(interpolation, found.half_width), found.half_width};
    if (other_mask) estimate.derived = "attention of one mask from the other";
    if (!a.plain()) estimate.derived = "attention of other lengths and windows from squares";
    if (a.dropout && !found.lookup->table->dropout) {
        estimate.seconds /= a.backward ? dropout_backward_ : dropout_forward_;
        estimate.derived = "attention that draws a dropout from attention that draws none";
    }
    if (!found.derived) return estimate;
    // Five products instead of two (FlashAttention-2, section 3.2), at backward_rate_ of the forward's rate.
    estimate.seconds *= 2.5 / backward_rate_;
    estimate.derived = "attention backward from forward";
    return estimate;
}

Estimate AttentionPredictor::estimate(const kernels::Attention& a) const {
    Estimate estimate = at_table_clock(a);
    estimate.limited.free = estimate.seconds;
    estimate.seconds = std::max(estimate.seconds, sustained_floor(kernels::flops(a), best_rate_, sustained_));
    return estimate;
}

std::string AttentionPredictor::explain(const kernels::Attention& a) const {
    const Answer found = answer(a);
    const Estimate total = estimate(a);
    std::string out =
        fmt::format("{}: {}\n  table attention {} {} ({})\n", kernels::to_text(a), format_seconds(total.seconds),
                    found.lookup->table->backward ? "backward" : "forward",
                    found.lookup->table->causal ? "causal" : "full", found.lookup->table->provenance.origin);
    if (found.kriged) out += to_text(*found.kriged);
    for (const auto& w : found.weights) {
        const auto& p = found.lookup->table->points[w.index];
        const std::string shape = fmt::format("b{} s{} h{} kv{} d{}", p.batch, p.seq, p.heads, p.kv_heads, p.head_dim);
        out += to_text(w, shape, p.seconds, found.kriged.has_value());
    }
    if (found.rate_of > 0)
        out += fmt::format("  longer than any row: with the rate of {}{:.0f} tokens\n",
                           found.as_blocks ? "as many blocks of " : "", found.rate_of);
    if (!a.plain())
        out += fmt::format("  no rows of these lengths: with the rate of {:.0f} queries of as many keys\n",
                           square_length(a));
    if (found.derived)
        out += fmt::format("  backward from forward {}: 2.5 times the operations at {:.3f} of its rate\n",
                           format_seconds(found.seconds), backward_rate_);
    if (a.dropout && !found.lookup->table->dropout)
        out +=
            fmt::format("  with a dropout at {:.3f} of its rate\n", a.backward ? dropout_backward_ : dropout_forward_);
    out += fmt::format("  sustained clock x{:.3f}{}\n", total.seconds / at_table_clock(a).seconds,
                       total.extrapolated ? ", extrapolated" : "");
    return out;
}

}  // namespace orrery::calibrate
