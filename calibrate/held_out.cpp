// Held-out errors: the predictor judged on measured points that it was not given.
#include <algorithm>
#include <cmath>
#include <span>

#include "calibrate/predict_attention.hpp"
#include "calibrate/predict_collective.hpp"
#include "calibrate/predict_gemm.hpp"
#include "calibrate/predict_image.hpp"
#include "calibrate/predict_pointwise.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/profile_json.hpp"

namespace orrery::calibrate {

namespace {

/// splitmix64's finaliser: spreads shapes evenly whatever their pattern.
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31U);
}

bool one_in_five(std::uint64_t key) { return mix(key + 0x9e3779b97f4a7c15ULL) % 5 == 0; }

bool kept_aside(const GemmPoint& p) { return one_in_five((static_cast<std::uint64_t>(p.n) << 32U) | p.k); }
bool kept_aside(const AttentionPoint& p) {
    std::uint64_t key = 0;
    for (const auto d : {p.batch, p.seq, p.heads, p.kv_heads, p.head_dim}) key = mix(key * 31 + d);
    return one_in_five(key);
}

bool kept_aside(const ConvolutionPoint& p) {
    std::uint64_t key = 0;
    for (const auto d : convolution_key(p.shape)) key = mix(key * 31 + d);
    return one_in_five(key);
}

HeldOut summary(std::vector<double> errors) {
    HeldOut out;
    out.points = static_cast<std::uint32_t>(errors.size());
    if (errors.empty()) return out;
    std::sort(errors.begin(), errors.end());
    for (const double e : errors) out.mean += e / static_cast<double>(errors.size());
    out.median = errors[errors.size() / 2];
    out.p90 = errors[errors.size() * 9 / 10];
    return out;
}

double relative(double predicted, double measured) { return std::abs(predicted / measured - 1); }

/// A profile with the same constants and nothing else.
Profile bare(const Profile& profile) {
    Profile out;
    out.name = profile.name;
    out.constants = profile.constants;
    return out;
}

void judge_gemm(const Profile& profile, const GemmTable& table, std::map<std::string, HeldOut>& out) {
    Profile rest = bare(profile);
    rest.gemm.push_back({table.dtype, table.provenance, {}, table.pass});
    for (const auto& p : table.points)
        if (!kept_aside(p)) rest.gemm[0].points.push_back(p);
    if (rest.gemm[0].points.empty() || rest.gemm[0].points.size() == table.points.size()) return;
    const GemmPredictor predictor(rest);
    std::vector<double> all, large;
    for (const auto& p : table.points) {
        if (!kept_aside(p)) continue;
        all.push_back(
            relative(predictor.at_table_clock({table.dtype, 1, p.m, p.n, p.k, table.pass}).seconds, p.seconds));
        if (std::min({p.m, p.n, p.k}) >= 512) large.push_back(all.back());
    }
    std::string key = "gemm-" + std::string(kernels::name(table.dtype));
    if (table.pass != kernels::GemmPass::forward) key += "-" + std::string(kernels::name(table.pass));
    out[key] = summary(std::move(all));
    if (!large.empty()) out[key + "-512"] = summary(std::move(large));
}

void judge_attention(const Profile& profile, const AttentionTable& table, std::map<std::string, HeldOut>& out) {
    Profile rest = bare(profile);
    rest.attention.push_back({table.backward, table.causal, table.provenance, {}, table.dtype, table.dropout});
    for (const auto& p : table.points)
        if (!kept_aside(p)) rest.attention[0].points.push_back(p);
    if (rest.attention[0].points.empty()) return;
    const AttentionPredictor predictor(rest);
    std::vector<double> errors;
    for (const auto& p : table.points) {
        if (!kept_aside(p)) continue;
        errors.push_back(relative(predictor.at_table_clock(shape_of(p, table)).seconds, p.seconds));
    }
    if (!errors.empty()) out[table.backward ? "attention-backward" : "attention"] = summary(std::move(errors));
}

void judge_convolution(const Profile& profile, const ConvolutionTable& table, std::map<std::string, HeldOut>& out) {
    Profile rest = bare(profile);
    rest.convolution.push_back({table.dtype, table.pass, table.provenance, {}});
    for (const auto& p : table.points)
        if (!kept_aside(p)) rest.convolution[0].points.push_back(p);
    if (rest.convolution[0].points.empty()) return;
    const GemmPredictor gemm(rest);
    const PointwisePredictor pointwise(rest);
    const ImagePredictor predictor(rest, gemm, pointwise);
    std::vector<double> errors;
    for (const auto& p : table.points)
        if (kept_aside(p)) errors.push_back(relative(predictor.at_table_clock(p.shape).seconds, p.seconds));
    std::string key = "convolution-" + std::string(kernels::name(table.dtype));
    if (table.pass != kernels::GemmPass::forward) key += "-" + std::string(kernels::name(table.pass));
    if (!errors.empty()) out[key] = summary(std::move(errors));
}

/// Every second size inside the sweep is predicted from the others.
void judge_collectives(const Profile& profile, std::map<std::string, HeldOut>& out) {
    std::vector<double> errors;
    for (const auto& table : profile.collectives) {
        Profile rest = bare(profile);
        rest.collectives.push_back({table.kind, table.ranks, table.provenance, {}});
        for (std::size_t i = 0; i < table.points.size(); ++i)
            if (i % 2 == 0 || i + 1 == table.points.size()) rest.collectives[0].points.push_back(table.points[i]);
        const CollectivePredictor predictor(rest);
        for (std::size_t i = 1; i + 1 < table.points.size(); i += 2)
            errors.push_back(relative(predictor.estimate(table.kind, table.ranks, table.points[i].bytes).seconds,
                                      table.points[i].seconds));
    }
    if (!errors.empty()) out["collective"] = summary(std::move(errors));
}

/// Every second size of one width of rows is predicted from the others.
void judge_width(std::span<const PointwisePoint> points, std::vector<double>& errors) {
    std::vector<double> bytes, seconds;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (i % 2 == 1 && i + 1 != points.size()) continue;
        bytes.push_back(points[i].bytes);
        seconds.push_back(points[i].bytes / points[i].bytes_per_second);
    }
    const Curve curve(bytes, seconds, true);
    for (std::size_t i = 1; i + 1 < points.size(); i += 2) {
        const auto& p = points[i];
        errors.push_back(relative(curve.at(p.bytes), p.bytes / p.bytes_per_second));
    }
}

void judge_pointwise(const Profile& profile, std::map<std::string, HeldOut>& out) {
    std::vector<double> errors;
    for (const auto& table : profile.pointwise) {
        const std::span<const PointwisePoint> points(table.points);
        for (std::size_t first = 0, end = 0; first < points.size(); first = end) {
            while (end < points.size() && points[end].cols == points[first].cols) ++end;
            judge_width(points.subspan(first, end - first), errors);
        }
    }
    if (!errors.empty()) out["pointwise"] = summary(std::move(errors));
}

}  // namespace

std::map<std::string, HeldOut> held_out_errors(const Profile& profile) {
    std::map<std::string, HeldOut> out;
    for (const auto& table : profile.gemm) judge_gemm(profile, table, out);
    for (const auto& table : profile.attention) judge_attention(profile, table, out);
    for (const auto& table : profile.convolution) judge_convolution(profile, table, out);
    judge_collectives(profile, out);
    judge_pointwise(profile, out);
    return out;
}

}  // namespace orrery::calibrate
