#include "calibrate/chips.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibrate/chip_attention.hpp"
#include "hardware/gpu.hpp"

namespace orrery::calibrate {

namespace {

/// A product that was timed, and the share of its chip's peak that it reached.
struct Product {
    kernels::Gemm gemm;
    double share;
    std::string_view origin;
    std::string_view licence = "a figure quoted";
};
/// On a TPU v2 core, of 23 TFLOP/s.
constexpr Product on_v2{{kernels::Dtype::bf16, 1, 8192, 16384, 8192},
                        95.6 / 96,
                        "share of the peak that a product of a Transformer's MLP reached on TPU v2: 96 ms of 95.6 (How "
                        "to Scale Your Model, part 9); carried over by the datasheets' peaks"};
/// XLA's, called one by one from Python. What its call takes is read off the product of 1,024 cubed of the same page:
/// all of its 119.4 us but the 10.9 at the peak, of 197 TFLOP/s.
constexpr double v5e_cube = 2 * 8192.0 * 8192 * 8192 / 197e12, v5e_small_cube = 2 * 1024.0 * 1024 * 1024 / 197e12;
constexpr Product on_v5e{
    {kernels::Dtype::bf16, 1, 8192, 8192, 8192},
    v5e_cube / (6.04715e-3 - (119.430e-6 - v5e_small_cube)),
    "share of the peak that XLA's product of 8,192 cubed reached on TPU v5e: 5.58 ms of 5.94, "
    "without its call from Python (JAX documentation, Pallas, Matrix Multiplication); carried over "
    "by the datasheets' peaks"};
/// Google's own, with the memory for scopes (xla_tpu_scoped_vmem_limit_kib) that its recipes set.
constexpr double v6e_cube = 2 * 8192.0 * 8192 * 8192 / 918e12;
constexpr Product on_v6e{
    {kernels::Dtype::bf16, 1, 8192, 8192, 8192},
    v6e_cube / 1.328756e-3,
    "1.328756 ms for 8,192 cubed by a trace, on TPU v6e with 64 MiB of scoped memory (AI-Hypercomputer/"
    "tpu-recipes, microbenchmarks/README.md, commit c8cfe2f)",
    "Apache-2.0"};
/// Google's own, each of one of a chip's two devices (1,153.5 TFLOP/s): on both, twice as many rows.
constexpr std::string_view on_ironwood =
    "rate of one of TPU7x's two devices, both of which divide the rows (AI-Hypercomputer/accelerator-microbenchmarks, "
    "Ironwood/Ironwood_Microbenchmarks_readme.md, commit 7439b2a: gemm, m = n = k)";
constexpr Product ironwood(std::uint32_t side, double tflops) {
    return {{kernels::Dtype::bf16, 1, 2 * side, side, side}, tflops / (2307.0 / 2), on_ironwood, "Apache-2.0"};
}
constexpr Product on_tpu7x[] = {ironwood(128, 2.589961271),   ironwood(256, 18.28645367),  ironwood(512, 105.0783466),
                                ironwood(1024, 349.7270639),  ironwood(2048, 679.284728),  ironwood(4096, 892.9445127),
                                ironwood(16384, 950.1286983), ironwood(32768, 956.3824592)};

/// A chip's own; of the others TPU v2 is the nearer one to v3 in time, v5e to v4 and v5p.
std::span<const Product> products_of(const hardware::Gpu& chip) {
    if (chip.name == "TPU7x") return on_tpu7x;
    if (chip.name == "TPU-v6e") return {&on_v6e, 1};
    return {chip.name == "TPU-v3" ? &on_v2 : &on_v5e, 1};
}

constexpr std::string_view compiled = "a compiled program: no host calls its operations one by one";

std::map<std::string, Constant> constants_of(const hardware::Gpu& chip) {
    return {
        {"peak_half_flops", {chip.half_flops, "flop/s", chip.datasheet}},
        {"memory_bytes_per_second", {chip.memory_bytes_per_second, "B/s", chip.datasheet}},
        {"sustained_gemm", {1, "1", "its product is one of a running training step, or of many in a row"}},
        {"attention_backward_rate", {tpu_backward.rate, "1", std::string(tpu_backward.origin)}},
        {"kernel_gap_seconds", {0, "s", std::string(compiled)}},
        {"launch_seconds", {0, "s", std::string(compiled)}},
        {"collective_launch_seconds", {0, "s", std::string(compiled)}},
        {"overlap_slowdown",
         {1, "1",
          "chips write into each other's memory by copy engines of their own, not by their cores (Pallas "
          "documentation, Distributed computing for TPUs)"}},
    };
}

Provenance read_on(const hardware::Gpu& chip, const Product& product) {
    return {.device = chip.name,
            .clocks = "",
            .date = "",
            .software = "XLA",
            .origin = std::string(product.origin),
            .licence = std::string(product.licence)};
}

const hardware::Gpu& chip_named(std::string_view name) {
    for (const hardware::Gpu& gpu : hardware::gpus())
        if (hardware::is_chip(gpu.socket) && gpu.profile == name) return gpu;
    throw Error(fmt::format("no chip \"{}\"", name), "one of " + join(chips()));
}

}  // namespace

std::span<const std::string_view> chips() {
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all;
        for (const hardware::Gpu& gpu : hardware::gpus())
            if (hardware::is_chip(gpu.socket)) all.emplace_back(gpu.profile);
        return all;
    }();
    return names;
}

Profile chip_profile(std::string_view name) {
    const hardware::Gpu& chip = chip_named(name);
    Profile profile;
    profile.name = chip.profile;
    profile.device = "Google " + chip.name;
    profile.made_by = fmt::format("orrery profile import {}", chip.profile);
    profile.constants = constants_of(chip);
    const std::span<const Product> read = products_of(chip);
    GemmTable products{kernels::Dtype::bf16, read_on(chip, read.front()), {}};
    for (const Product& product : read) {
        const kernels::Gemm& p = product.gemm;
        const double seconds = kernels::flops(p) / (product.share * chip.half_flops);
        products.points.push_back({p.m, p.n, p.k, static_cast<float>(seconds)});
    }
    profile.gemm.push_back(std::move(products));
    profile.attention = chip_attention(chip);
    return profile;
}

}  // namespace orrery::calibrate
