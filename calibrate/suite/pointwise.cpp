// Memory-bound kernels: every kind over sizes, rows as wide as hidden layers.
#include <algorithm>
#include <map>
#include <tuple>

#include "calibrate/suite/suite.hpp"
#include "kernels/operands.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Pointwise;
using kernels::PointwiseKind;

/// Of neighbours predicting a size between them.
constexpr double target = 0.05;

std::vector<std::uint64_t> widths(const Bench& bench, PointwiseKind kind) {
    using enum PointwiseKind;
    switch (kind) {
        case layernorm:
        case layernorm_backward:
        case rmsnorm:
        case rmsnorm_backward:
        case softmax:
        case softmax_backward:
            return bench.is_cpu() ? std::vector<std::uint64_t>{256, 2048} : std::vector<std::uint64_t>{1024, 8192};
        case cross_entropy:
        case cross_entropy_backward: return {32768};
        default: return {1024};
    }
}

/// The next number of rows that the kernel can have: permutations move every copy of a token.
std::uint64_t whole_tokens(PointwiseKind kind, std::uint64_t rows) {
    const bool copies = kind == PointwiseKind::permute || kind == PointwiseKind::unpermute;
    return copies ? (rows + kernels::moe_top_k - 1) / kernels::moe_top_k * kernels::moe_top_k : rows;
}

/// What training in 16 bits runs in fp32: the loss, and what surrounds the optimizer. A GPU is bound by bytes whatever
/// the format; a CPU unpacks.
bool is_single_beside_half(PointwiseKind kind) {
    using enum PointwiseKind;
    switch (kind) {
        case scale:
        case fill:
        case sum_of_squares:
        case cross_entropy:
        case cross_entropy_backward:
        case cross_entropy_maximum:
        case cross_entropy_part:
        case cross_entropy_part_backward: return true;
        default: return false;
    }
}

bool affordable(const Bench& bench, const Pointwise& p) {
    constexpr double cpu_bytes_per_second = 3e9, gpu_bytes_per_second = 500e9;
    const double rate = bench.is_cpu() ? cpu_bytes_per_second : gpu_bytes_per_second;
    return kernels::bytes(p) / rate < bench.seconds_per_point / 4 && kernels::footprint(p) < bench.most_bytes() &&
           bench.device->supports(p);
}

}  // namespace

/// A plain stream beyond the caches first: what memory gives. Then the middle sizes of every kind, then larger and
/// smaller ones.
std::vector<Subject> pointwise_grid(const Bench& bench) {
    std::vector<Subject> out;
    const std::vector<std::uint64_t> elements =
        bench.is_cpu()
            ? std::vector<std::uint64_t>{1U << 18U, 1U << 22U, 1U << 14U, 1U << 20U, 1U << 16U, 1U << 24U}
            : std::vector<std::uint64_t>{1U << 22U, 1U << 26U, 1U << 18U, 1U << 24U, 1U << 20U, 1U << 28U, 1U << 16U};
    const auto dtype = bench.dtypes.front();
    Pointwise stream{PointwiseKind::add, dtype, 1024, 1024};
    while (kernels::bytes(stream) < 2.0 * static_cast<double>(bench.device->facts().cache_bytes)) stream.rows *= 2;
    if (kernels::footprint(stream) < bench.most_bytes() && bench.device->supports(stream))
        out.emplace_back(kernels::Kernel(stream));
    for (const std::uint64_t count : elements)
        for (int kind = 0; kind < kernels::pointwise_kinds; ++kind) {
            const auto k = static_cast<PointwiseKind>(kind);
            for (const std::uint64_t cols : widths(bench, k)) {
                Pointwise p{k, dtype, count / cols, cols};
                if (p.rows == 0) continue;
                if (affordable(bench, p)) out.emplace_back(kernels::Kernel(p));
                if (dtype == kernels::Dtype::fp32 || !bench.is_cpu() || !is_single_beside_half(k)) continue;
                p.dtype = kernels::Dtype::fp32;
                if (affordable(bench, p)) out.emplace_back(kernels::Kernel(p));
            }
        }
    return out;
}

std::vector<Subject> pointwise_refine(const Bench& bench, std::span<const Record> measured) {
    std::map<std::tuple<PointwiseKind, kernels::Dtype, std::uint64_t>, std::map<std::uint64_t, double>> sweeps;
    for (const Record& r : measured)
        if (const auto* kernel = std::get_if<kernels::Kernel>(&r.subject); kernel != nullptr && r.failure.empty())
            if (const auto* p = std::get_if<Pointwise>(kernel))
                sweeps[{p->kind, p->dtype, p->cols}][p->rows] = r.seconds;
    std::vector<Subject> out;
    for (const auto& [key, rows] : sweeps) {
        std::vector<SweepPoint> sweep;
        for (const auto& [count, seconds] : rows) sweep.push_back({static_cast<double>(count), seconds});
        const auto& [kind, dtype, cols] = key;
        const Pointwise p{kind, dtype, whole_tokens(kind, static_cast<std::uint64_t>(worst_gap(sweep, target))), cols};
        if (p.rows > 0 && !rows.contains(p.rows) && affordable(bench, p)) out.emplace_back(kernels::Kernel(p));
    }
    return out;
}

}  // namespace orrery::calibrate
