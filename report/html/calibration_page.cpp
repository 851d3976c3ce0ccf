#include "report/html/calibration_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "calibrate/predict_attention.hpp"
#include "calibrate/roofline.hpp"
#include "report/coverage.hpp"
#include "report/html/page.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;
using calibrate::Profile;
using kernels::Dtype;
using kernels::Kernel;

constexpr std::size_t most_points = 1'200;  ///< of one table: more are one blot

/// Four digits are more than a point of a plot shows.
double shown(double value) { return std::stod(fmt::format("{:.4g}", value)); }

/// Calls f with points of a table, evenly spaced where there are too many; how many are left out.
template <class Points, class F>
std::size_t some_of(const Points& points, const F& f) {
    const std::size_t count = std::min(points.size(), most_points);
    for (std::size_t i = 0; i < count; ++i) f(points[i * points.size() / count]);
    return points.size() - count;
}

/// [FLOP per byte, FLOP/s, what] of a measured kernel.
Json point(const Kernel& kernel, double seconds) {
    return {shown(kernels::intensity(kernel)), shown(kernels::flops(kernel) / seconds), kernels::to_text(kernel)};
}

/// Measured products and attention under the roof.
Json roof_points(const Profile& profile) {
    Json list = Json::array();
    const auto add = [&](const std::string& table, const auto& points, const auto& kernel_of) {
        Json rows = Json::array();
        const std::size_t left_out =
            some_of(points, [&](const auto& each) { rows.push_back(point(kernel_of(each), each.seconds)); });
        list.push_back({{"table", table}, {"points", std::move(rows)}, {"left_out", left_out}});
    };
    for (const auto& t : profile.gemm)
        add(fmt::format("gemm {} {}", kernels::name(t.dtype), kernels::name(t.pass)), t.points,
            [&](const calibrate::GemmPoint& p) {
                return kernels::Gemm{.dtype = t.dtype, .m = p.m, .n = p.n, .k = p.k, .pass = t.pass};
            });
    for (const auto& t : profile.batched_gemm)
        add(fmt::format("batched gemm {} {}", kernels::name(t.dtype), kernels::name(t.pass)), t.points,
            [&](const calibrate::BatchedGemmPoint& p) {
                return kernels::Gemm{.dtype = t.dtype, .batch = p.batch, .m = p.m, .n = p.n, .k = p.k, .pass = t.pass};
            });
    for (const auto& t : profile.attention)
        add(fmt::format("attention {}{}{}", t.backward ? "backward" : "forward", t.causal ? " causal" : "",
                        t.dropout ? ", dropout" : ""),
            t.points, [&](const calibrate::AttentionPoint& p) { return calibrate::shape_of(p, t); });
    for (const auto& t : profile.convolution)
        add(fmt::format("convolution {} {}", kernels::name(t.dtype), kernels::name(t.pass)), t.points,
            [](const calibrate::ConvolutionPoint& p) { return p.shape; });
    return list;
}

/// [bytes, bytes a second] of kernels that memory bounds, of copies and of collectives (bus bandwidth).
Json bandwidths(const Profile& profile) {
    Json kernels = Json::array(), collectives = Json::array();
    for (const auto& t : profile.pointwise) {
        Json rows = Json::array();
        some_of(t.points, [&](const auto& p) { rows.push_back({shown(p.bytes), shown(p.bytes_per_second)}); });
        kernels.push_back({{"table", kernels::name(t.kind)}, {"points", std::move(rows)}});
    }
    for (const auto& t : profile.copies) {
        Json rows = Json::array();
        some_of(t.points, [&](const auto& p) { rows.push_back({shown(p.bytes), shown(p.bytes / p.seconds)}); });
        kernels.push_back({{"table", fmt::format("copy {}", kernels::name(t.kind))}, {"points", std::move(rows)}});
    }
    for (const auto& t : profile.collectives) {
        Json rows = Json::array();
        const double factor = kernels::bus_factor(t.kind, t.ranks);
        some_of(t.points, [&](const auto& p) {
            rows.push_back({shown(p.bytes), shown(p.bytes / p.seconds * factor)});
        });
        collectives.push_back(
            {{"kind", kernels::name(t.kind)}, {"ranks", t.ranks}, {"nodes", t.nodes}, {"points", std::move(rows)}});
    }
    return {{"kernels", std::move(kernels)}, {"collectives", std::move(collectives)}};
}

Json roofs(const Profile& profile) {
    const calibrate::Machine machine(profile.constants);
    Json peaks = Json::array();
    for (const Dtype format : {Dtype::fp8, Dtype::bf16, Dtype::tf32, Dtype::fp32})
        peaks.push_back({{"format", format == Dtype::bf16 ? "16 bits" : kernels::name(format)},
                         {"flops_per_second", machine.peak(format)}});
    return {{"peaks", std::move(peaks)}, {"bytes_per_second", machine.bytes_per_second}};
}

/// A kernel of each kind, as large as a layer of 4,096 hidden units has them for 4,096 tokens.
std::vector<std::pair<std::string, Kernel>> usual_kernels() {
    constexpr std::uint32_t size = 4096, heads = 32;
    std::vector<std::pair<std::string, Kernel>> all;
    for (const Dtype format : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8})
        all.emplace_back(fmt::format("gemm {}", kernels::name(format)),
                         kernels::Gemm{.dtype = format, .m = size, .n = size, .k = size});
    for (const bool backward : {false, true})
        for (const bool causal : {true, false})
            all.emplace_back(fmt::format("attention {}{}", backward ? "backward" : "forward", causal ? " causal" : ""),
                             kernels::Attention{.backward = backward,
                                                .causal = causal,
                                                .batch = 1,
                                                .seq = size,
                                                .heads = heads,
                                                .kv_heads = heads,
                                                .head_dim = size / heads});
    for (int kind = 0; kind < kernels::pointwise_kinds; ++kind) {
        const auto which = static_cast<kernels::PointwiseKind>(kind);
        all.emplace_back(std::string(kernels::name(which)),
                         kernels::Pointwise{.kind = which, .rows = size, .cols = size});
    }
    return all;
}

/// What an answer rests on: {kernel, example, seconds, state, from}.
Json answers(const calibrate::Predictor& predictor) {
    Json list = Json::array();
    for (const auto& [kind, kernel] : usual_kernels()) {
        Json entry{{"kernel", kind}, {"example", kernels::to_text(kernel)}};
        try {
            const calibrate::Estimate estimate = predictor.kernel(kernel);
            entry["seconds"] = estimate.seconds;
            entry["state"] = !estimate.derived.empty() ? "derived"
                             : estimate.extrapolated   ? "beyond the measured sizes"
                                                       : "measured";
            const std::string words = predictor.explain(kernel);
            entry["from"] =
                !estimate.derived.empty() ? std::string(estimate.derived) : words.substr(0, words.find('\n'));
        } catch (const Error& error) {
            entry["seconds"] = nullptr;
            entry["state"] = "none";
            entry["from"] = error.message();
        }
        list.push_back(std::move(entry));
    }
    return list;
}

Json errors(const Profile& profile) {
    Json list = held_out_records(profile).objects();
    for (Json& each : list) {
        const auto noise = profile.noise.find(each.at("suite").get<std::string>());
        each["noise"] = noise == profile.noise.end() ? Json() : Json(noise->second.median);
    }
    return list;
}

}  // namespace

std::string calibration_page(const calibrate::Predictor& predictor, const std::string& command) {
    const Profile& profile = predictor.profile();
    return page(Json{{"view", "calibration"},
                     {"title", fmt::format("Profile {}", profile.name)},
                     {"subtitle", fmt::format("{}, made by: {}", profile.device, profile.made_by)},
                     {"command", command},
                     {"roofs", roofs(profile)},
                     {"points", roof_points(profile)},
                     {"bandwidths", bandwidths(profile)},
                     {"coverage", coverage_records(profile).objects()},
                     {"answers", answers(predictor)},
                     {"constants", constants_records(profile).objects()},
                     {"errors", errors(profile)}});
}

}  // namespace orrery::report
