#include "calibrate/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery::calibrate {

namespace {

/// Start-up of a kernel: the least time any GEMM or attention of the published tables takes is 3 to 9 us.
constexpr double start_up_seconds = 4e-6;

/// (a^4 + b^4)^(1/4): within 19% above the larger where both bounds meet, as real kernels are.
double smooth_maximum(double a, double b) {
    const double a2 = a * a, b2 = b * b;
    return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

/// Output tiles of GEMM libraries and the share of the peak that their inner loop allows: a tile of m x n reads
/// (m + n) k operands from shared memory for m n k products, so small tiles are bound by shared memory.
struct Tile {
    double m, n, share;
};
constexpr std::array tiles{Tile{256, 256, 1.0}, Tile{256, 128, 1.0}, Tile{128, 256, 1.0}, Tile{128, 128, 0.9},
                           Tile{128, 64, 0.7},  Tile{64, 128, 0.7},  Tile{64, 64, 0.5}};

/// Whole waves of `blocks` over the multiprocessors.
double waves(double blocks, const Machine& machine) { return std::ceil(blocks / machine.multiprocessors); }

double compute_seconds(const kernels::Gemm& g, const Machine& machine) {
    const double peak = machine.peak(g.dtype);
    if (!machine.tile_waves || machine.multiprocessors <= 0) return kernels::flops(g) / peak;
    const double per_sm = peak / machine.multiprocessors, k = std::ceil(g.k / 64.0) * 64.0;
    double best = INFINITY;
    for (const auto& tile : tiles) {
        const double blocks = g.batch * std::ceil(g.m / tile.m) * std::ceil(g.n / tile.n);
        const double block_seconds = 2.0 * tile.m * tile.n * k / (per_sm * tile.share);
        best = std::min(best, waves(blocks, machine) * block_seconds);
        for (double split = 2; split <= 16 && k / split >= 256; split *= 2) {
            // Partial sums in fp32 are written and read once more by a second, short kernel.
            const double partial = 8.0 * g.batch * g.m * static_cast<double>(g.n) * split / 2;
            const double reduce = partial / machine.bytes_per_second / 2 + start_up_seconds / 2;
            best = std::min(best, waves(blocks * split, machine) * block_seconds / split + reduce);
        }
    }
    return best;
}

}  // namespace

Machine::Machine(const std::map<std::string, Constant>& constants)
    : half_flops(constants.at("peak_half_flops").value),
      fp8_flops(constant_or(constants, "peak_fp8_flops", half_flops)),
      fp4_flops(constant_or(constants, "peak_fp4_flops", fp8_flops)),
      single_flops(constant_or(constants, "peak_single_flops", half_flops / 16)),
      bytes_per_second(constants.at("memory_bytes_per_second").value),
      multiprocessors(constant_or(constants, "multiprocessors", 0)),
      tile_waves(constants.contains("tile_waves")) {
    tf32_flops = constant_or(constants, "peak_tf32_flops", single_flops);
    fp16_flops = constants.contains("cache_bytes") ? single_flops : half_flops;
}

double Machine::peak(kernels::Dtype dtype) const {
    switch (dtype) {
        case kernels::Dtype::fp32: return single_flops;
        case kernels::Dtype::tf32: return tf32_flops;
        case kernels::Dtype::fp16: return fp16_flops;
        case kernels::Dtype::bf16: return half_flops;
        case kernels::Dtype::fp8: return fp8_flops;
        case kernels::Dtype::fp4: return fp4_flops;
    }
    return half_flops;
}

double gemm_roofline(const kernels::Gemm& gemm, const Machine& machine) {
    const double memory = kernels::bytes(gemm) / machine.bytes_per_second;
    return smooth_maximum(compute_seconds(gemm, machine), memory) + start_up_seconds;
}

double attention_roofline(const kernels::Attention& attention, const Machine& machine) {
    const double memory = kernels::bytes(attention) / machine.bytes_per_second;
    double compute = kernels::flops(attention) / machine.peak(attention.dtype);
    if (machine.multiprocessors > 0) {
        const double blocks = static_cast<double>(attention.batch) * attention.heads * std::ceil(attention.seq / 128.0);
        compute *= std::max(1.0, machine.multiprocessors / blocks);  // fewer blocks than multiprocessors
    }
    return smooth_maximum(compute, memory) + start_up_seconds;
}

kernels::Gemm implicit_gemm(const kernels::Convolution& c) {
    const std::uint32_t pixels = c.batch * c.output_rows() * c.output_columns(), outputs = c.outputs / c.groups,
                        inputs = c.channels / c.groups * c.kernel_rows * c.kernel_columns;
    switch (c.pass) {
        case kernels::GemmPass::forward: return {c.dtype, c.groups, pixels, outputs, inputs, c.pass};
        case kernels::GemmPass::data_gradient: return {c.dtype, c.groups, pixels, inputs, outputs, c.pass};
        case kernels::GemmPass::weight_gradient: return {c.dtype, c.groups, inputs, outputs, pixels, c.pass};
    }
    return {};
}

double convolution_roofline(const kernels::Convolution& convolution, const Machine& machine) {
    const double memory = kernels::bytes(convolution) / machine.bytes_per_second;
    return smooth_maximum(compute_seconds(implicit_gemm(convolution), machine), memory) + start_up_seconds;
}

double best_half_rate(const Profile& profile, const Machine& machine) {
    double best = 0;
    for (const auto& table : profile.gemm)
        for (const auto& p : table.points) {
            const double rate = kernels::flops(kernels::Gemm{table.dtype, 1, p.m, p.n, p.k}) / p.seconds;
            best = std::max(best, rate * machine.half_flops / machine.peak(table.dtype));
        }
    return best > 0 ? best : machine.half_flops;
}

double sustained_floor(double flops, double best_rate, double sustained) { return flops / (sustained * best_rate); }

}  // namespace orrery::calibrate
