#include "calibrate/compare_profiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "calibrate/predict_attention.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Dtype;
using kernels::Kernel;

void finish(ComparedSuite suite, std::vector<ComparedSuite>& out) {
    if (suite.rows.empty()) return;
    std::ranges::stable_sort(suite.rows, std::greater{},
                             [](const ComparedRow& r) { return std::abs(std::log(r.ratio())); });
    std::vector<double> ratios;
    for (const ComparedRow& r : suite.rows) ratios.push_back(r.ratio());
    std::ranges::sort(ratios);
    suite.p10 = ratios[ratios.size() / 10];
    suite.median = ratios[ratios.size() / 2];
    suite.p90 = ratios[ratios.size() * 9 / 10];
    out.push_back(std::move(suite));
}

/// Adds the kernel's row; nothing when the second profile has no table for it.
void add(const Kernel& kernel, double seconds, const Predictor& second, ComparedSuite& suite) {
    try {
        suite.rows.push_back({kernels::to_text(kernel), seconds, second.at_table_clock(kernel).seconds});
    } catch (const Error&) {
        return;
    }
}

std::string suffix(kernels::GemmPass pass) {
    return pass == kernels::GemmPass::forward ? "" : fmt::format(" {}", kernels::name(pass));
}

}  // namespace

std::vector<ComparedSuite> compare_profiles(const Predictor& first, const Predictor& second) {
    std::vector<ComparedSuite> out;
    const Profile& profile = first.profile();
    for (const auto& t : profile.gemm) {
        ComparedSuite suite{fmt::format("gemm {}{}", kernels::name(t.dtype), suffix(t.pass)), {}};
        for (const auto& p : t.points) add(kernels::Gemm{t.dtype, 1, p.m, p.n, p.k, t.pass}, p.seconds, second, suite);
        finish(std::move(suite), out);
    }
    for (const auto& t : profile.batched_gemm) {
        ComparedSuite suite{fmt::format("batched gemm {}{}", kernels::name(t.dtype), suffix(t.pass)), {}};
        for (const auto& p : t.points)
            add(kernels::Gemm{t.dtype, p.batch, p.m, p.n, p.k, t.pass}, p.seconds, second, suite);
        finish(std::move(suite), out);
    }
    for (const auto& t : profile.attention) {
        ComparedSuite suite{fmt::format("attention{}{}", t.backward ? " backward" : "", t.dropout ? ", dropout" : ""),
                            {}};
        for (const auto& p : t.points) add(shape_of(p, t), p.seconds, second, suite);
        finish(std::move(suite), out);
    }
    for (const auto& t : profile.convolution) {
        ComparedSuite suite{fmt::format("convolution {}", kernels::name(t.pass)), {}};
        for (const auto& p : t.points) add(p.shape, p.seconds, second, suite);
        finish(std::move(suite), out);
    }
    for (const auto& t : profile.pointwise) {
        ComparedSuite suite{std::string(kernels::name(t.kind)), {}};
        const Dtype dtype = t.dtype.value_or(Dtype::bf16);
        for (const auto& p : t.points) {
            const std::uint64_t cols = p.cols > 0 ? p.cols : 1;
            const double row_bytes = kernels::bytes(kernels::Pointwise{t.kind, dtype, 1, cols});
            const auto rows = static_cast<std::uint64_t>(std::max(1.0, std::round(p.bytes / row_bytes)));
            add(kernels::Pointwise{t.kind, dtype, rows, cols}, p.bytes / p.bytes_per_second, second, suite);
        }
        finish(std::move(suite), out);
    }
    for (const auto& t : profile.collectives) {
        const std::string where = t.nodes > 1 ? fmt::format(" on {} nodes", t.nodes) : "";
        ComparedSuite suite{fmt::format("{} among {}{}", kernels::name(t.kind), t.ranks, where), {}};
        for (const auto& p : t.points) try {
                const auto other = second.measured(t.kind, t.ranks, t.nodes, p.bytes);
                if (!other) break;
                suite.rows.push_back({fmt::format("{:.0f} B", p.bytes), p.seconds, other->seconds});
            } catch (const Error&) {
                break;
            }
        finish(std::move(suite), out);
    }
    return out;
}

}  // namespace orrery::calibrate
