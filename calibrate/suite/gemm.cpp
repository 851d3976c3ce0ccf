// Matrix products: shapes of Transformer layers, a space-filling design, then wherever the prediction is least certain.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "calibrate/gemm_trend.hpp"
#include "calibrate/measure/training_launch.hpp"
#include "calibrate/suite/suite.hpp"
#include "kernels/operands.hpp"

namespace orrery::calibrate {

namespace {

using kernels::Dtype;
using kernels::Gemm;
using kernels::GemmPass;

/// The design reaches below what training has, so that predictions there are no extrapolations.
constexpr double least_size = 32, least_random_size = 64;
/// Rates that no device of its kind exceeds by much: they only bound how long a point may take.
constexpr double cpu_flops = 200e9, gpu_flops = 400e12;
constexpr std::size_t design_points = 120;
constexpr std::size_t refine_points = 12, refine_candidates = 400;
/// Errors of leaving one point out, with which the table is good enough.
constexpr double target_median = 0.02, target_p90 = 0.06;

double largest_size(const Bench& bench) { return bench.is_cpu() ? 4096 : 32768; }

bool affordable(const Bench& bench, const Gemm& gemm) {
    const double rate = bench.is_cpu() ? cpu_flops * bench.device->facts().multiprocessors : gpu_flops;
    return kernels::flops(gemm) / rate < bench.seconds_per_point && kernels::footprint(gemm) < bench.most_bytes() &&
           runs(*bench.device, gemm);
}

/// Van der Corput's sequence: the digits of `index` mirrored at the point. Three bases make a Halton sequence, which
/// fills space evenly for every length (Halton, 1960).
double halton(std::uint32_t index, std::uint32_t base) {
    double value = 0, digit = 1;
    for (; index > 0; index /= base) value += (digit /= base) * (index % base);
    return value;
}

/// Log-uniform in [least, largest], in whole multiples of `unit`.
std::uint32_t size_at(double share, double least, double largest, std::uint32_t unit) {
    const double size = least * std::pow(largest / least, share);
    return static_cast<std::uint32_t>(std::max(1.0, std::round(size / unit))) * unit;
}

/// What a size is a whole multiple of. On a CPU half of all sizes fill vectors of 16. On a GPU half of them fill tiles
/// of 64; rows of the others begin at 16 bytes all the same, as those of models are padded to: without that the library
/// falls back to kernels of older GPUs, at a fifth to a third of the rate (H200, cuBLASLt 13.1), which no neighbour
/// knows of. How many rows there are (tokens) is free.
std::uint32_t unit_of(const Bench& bench, bool aligned, bool rows) {
    if (bench.is_cpu()) return aligned ? 16 : 1;
    return aligned ? 64 : rows ? 1 : 8;
}

/// tokens x (outputs, inputs) of the four products of a layer of hidden size h.
std::vector<Gemm> transformer_shapes(const Bench& bench, Dtype dtype) {
    std::vector<Gemm> out;
    const std::vector<std::uint32_t> hidden = bench.is_cpu()
                                                  ? std::vector<std::uint32_t>{256, 512, 768, 1024, 2048}
                                                  : std::vector<std::uint32_t>{1024, 2048, 4096, 8192, 12288};
    const std::vector<std::uint32_t> tokens =
        bench.is_cpu() ? std::vector<std::uint32_t>{128, 512, 2048} : std::vector<std::uint32_t>{512, 2048, 8192};
    for (const auto h : hidden)
        for (const auto m : tokens)
            for (const auto& [n, k] : {std::pair{3 * h, h}, {h, h}, {4 * h, h}, {h, 4 * h}})
                if (const Gemm gemm{dtype, 1, m, n, k, GemmPass::forward}; affordable(bench, gemm)) out.push_back(gemm);
    return out;
}

/// The same layer backwards: its gradients' products.
Gemm of_pass(const Gemm& forward, GemmPass pass) {
    Gemm out = forward;
    out.pass = pass;
    if (pass == GemmPass::data_gradient) out.n = forward.k, out.k = forward.n;
    if (pass == GemmPass::weight_gradient) out.m = forward.n, out.n = forward.k, out.k = forward.m;
    return out;
}

std::vector<Gemm> design(const Bench& bench, Dtype dtype) {
    std::vector<Gemm> out;
    const double largest = largest_size(bench);
    for (std::uint32_t i = 1; out.size() < design_points && i < 40 * design_points; ++i) {
        const std::uint32_t mask = i * 2654435761U >> 28U;  // which of the sizes are whole multiples of 16
        const Gemm gemm{dtype,
                        1,
                        size_at(halton(i, 2), least_size, largest, unit_of(bench, (mask & 1U) != 0, true)),
                        size_at(halton(i, 3), least_size, largest, unit_of(bench, (mask & 2U) != 0, false)),
                        size_at(halton(i, 5), least_size, largest, unit_of(bench, (mask & 4U) != 0, false)),
                        GemmPass::forward};
        if (affordable(bench, gemm)) out.push_back(gemm);
    }
    return out;
}

/// Two thirds forward, a sixth each gradient: gradients resemble the forward pass, which stands in for them.
GemmPass pass_of(std::size_t i) {
    if (i % 6 == 2) return GemmPass::data_gradient;
    return i % 6 == 5 ? GemmPass::weight_gradient : GemmPass::forward;
}

/// The records of one table.
GemmTable table_of(std::span<const Record> measured, Dtype dtype, GemmPass pass) {
    GemmTable table{dtype, {}, {}, pass};
    for (const Record& r : measured) {
        const auto* kernel = std::get_if<kernels::Kernel>(&r.subject);
        const auto* g = kernel == nullptr ? nullptr : std::get_if<Gemm>(kernel);
        if (g == nullptr || !r.failure.empty() || g->dtype != dtype || g->pass != pass || g->batch != 1) continue;
        table.points.push_back({g->m, g->n, g->k, static_cast<float>(r.seconds), static_cast<float>(r.half_width)});
    }
    return table;
}

bool good_enough(std::vector<double> errors) {
    std::ranges::sort(errors);
    return errors[errors.size() / 2] <= target_median && errors[errors.size() * 9 / 10] <= target_p90;
}

/// A machine whose roofline only sets a scale: peak and bandwidth from the table itself.
Machine scale_of(const Bench& bench, const GemmTable& table) {
    double flops = 0, bytes = 0;
    for (const auto& p : table.points) {
        const Gemm gemm{table.dtype, 1, p.m, p.n, p.k};
        flops = std::max(flops, kernels::flops(gemm) / p.seconds);
        bytes = std::max(bytes, kernels::bytes(gemm) / p.seconds);
    }
    const Constant peak{flops, "flop/s", "table"};
    std::map<std::string, Constant> constants{
        {"peak_half_flops", peak}, {"peak_single_flops", peak}, {"memory_bytes_per_second", {bytes, "B/s", "table"}}};
    if (!bench.is_cpu())
        constants["multiprocessors"] = {static_cast<double>(bench.device->facts().multiprocessors), "1", "device"};
    return Machine(constants);
}

/// The candidates with the widest prediction, one a region: a chosen one rules out its neighbours.
std::vector<Subject> least_certain(const Bench& bench, const GemmTable& table, std::uint64_t seed) {
    const Machine machine = scale_of(bench, table);
    const GemmScatter scatter(table, machine);
    if (good_enough(scatter.leave_one_out())) return {};
    std::vector<std::pair<double, Gemm>> ranked;
    for (Gemm gemm : random_gemms(bench, table.dtype, refine_candidates, seed)) {
        gemm.pass = table.pass;
        ranked.emplace_back(scatter.at(gemm, machine).uncertainty, gemm);
    }
    std::ranges::stable_sort(ranked, std::greater{}, [](const auto& r) { return r.first; });
    std::vector<Subject> out;
    std::vector<Gemm> chosen;
    const auto far = [](const Gemm& a, const Gemm& b) {
        const auto apart = [](double x, double y) { return std::abs(std::log(x / y)); };
        return apart(a.m, b.m) + apart(a.n, b.n) + apart(a.k, b.k) > 1.5;
    };
    for (const auto& entry : ranked) {
        const Gemm& gemm = entry.second;
        if (chosen.size() == refine_points) break;
        if (!std::ranges::all_of(chosen, [&](const Gemm& other) { return far(gemm, other); })) continue;
        chosen.push_back(gemm);
        out.emplace_back(kernels::Kernel(gemm));
    }
    return out;
}

}  // namespace

std::vector<Gemm> random_gemms(const Bench& bench, Dtype dtype, std::size_t count, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto uniform = [&] { return static_cast<double>(random() >> 11U) * 0x1p-53; };
    std::vector<Gemm> out;
    for (std::size_t tries = 0; out.size() < count && tries < 1000 * count; ++tries) {
        const auto size = [&](bool rows) {
            const double share = uniform();
            return size_at(share, least_random_size, largest_size(bench), unit_of(bench, (random() & 1U) != 0, rows));
        };
        const std::uint32_t m = size(true), n = size(false), k = size(false);
        const Gemm gemm{dtype, 1, m, n, k, GemmPass::forward};
        if (affordable(bench, gemm)) out.push_back(gemm);
    }
    return out;
}

/// Design and layers in turn, both from coarse to fine; the first format fully, the others after it.
std::vector<Subject> gemm_grid(const Bench& bench) {
    std::vector<Subject> out;
    for (const Dtype dtype : bench.dtypes) {
        const std::vector<Gemm> filling = design(bench, dtype), layers = transformer_shapes(bench, dtype);
        if (!layers.empty()) {  // the longest product first: what it sustains is the rate of a long run
            const auto longest = std::ranges::max_element(layers, {}, [](const Gemm& g) { return kernels::flops(g); });
            const std::uint32_t seconds = bench.is_cpu() ? 1 : 8;
            if (dtype == bench.dtypes.front()) {
                out.emplace_back(kernels::Kernel(*longest));
                out.emplace_back(SustainedShape{*longest, seconds});
            }
        }
        for (std::size_t i = 0; i < std::max(filling.size(), layers.size()); ++i)
            for (const auto* list : {&filling, &layers}) {
                if (i >= list->size()) continue;
                const Gemm gemm = of_pass((*list)[i], pass_of(i));
                if (runs(*bench.device, gemm)) out.emplace_back(kernels::Kernel(gemm));
            }
    }
    return out;
}

std::vector<Subject> gemm_refine(const Bench& bench, std::span<const Record> measured) {
    constexpr std::size_t least_points = 16;
    for (const Dtype dtype : bench.dtypes)
        for (const GemmPass pass : {GemmPass::forward, GemmPass::data_gradient, GemmPass::weight_gradient}) {
            const GemmTable table = table_of(measured, dtype, pass);
            if (table.points.size() < least_points) continue;
            // Forward first, until its neighbours no longer tell more than the gradients' do.
            auto points = least_certain(bench, table, bench.seed * 1000003 + measured.size());
            if (!points.empty()) return points;
        }
    return {};
}

}  // namespace orrery::calibrate
