#include "scenarios/gpu_offers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "hardware/compute_capability.hpp"
#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace orrery::scenarios {

namespace {

using documents::Reader;
using kernels::Dtype;

/// Tensor cores for tf32 and bf16 came with Ampere, those for fp8 with Hopper, for fp4 with Blackwell; CPUs have
/// instructions for bf16: the device's table says which it has. A CPU takes fp16, and computes it in fp32.
bool offers(const topology::Gpu& gpu, Dtype dtype) {
    switch (dtype) {
        case Dtype::fp32: return gpu.fp32_flops > 0;
        case Dtype::fp16: return gpu.fp16 || gpu.socket == hardware::Socket::core;
        case Dtype::tf32: return gpu.tf32_flops > 0;
        case Dtype::bf16: return gpu.bf16;
        case Dtype::fp8: return gpu.fp8_flops > 0;
        case Dtype::fp4: return gpu.fp4_flops > 0;
    }
    return false;
}

/// What a device lacks, by its datasheet, where it has one.
Error lacking(const topology::Gpu& gpu, const Reader& section, std::string_view key, const std::string& what,
              std::string hint) {
    const std::string source = gpu.datasheet.empty() ? "" : fmt::format(" ({})", gpu.datasheet);
    return {section.file(), section.pointer(key), fmt::format("{} {}{}", gpu.name, what, source), std::move(hint)};
}

/// As a vendor calls what multiplies matrices.
const char* units_of(const topology::Gpu& gpu) {
    return hardware::vendor(gpu.socket) == hardware::Vendor::amd ? "matrix cores" : "tensor cores";
}

void check_precision(Dtype wanted, const topology::Gpu& gpu, const Reader& section) {
    if (offers(gpu, wanted)) return;
    std::string legal;
    for (const Dtype other : {Dtype::fp32, Dtype::tf32, Dtype::fp16, Dtype::bf16, Dtype::fp8, Dtype::fp4}) {
        if (offers(gpu, other)) legal += fmt::format("{}{}", legal.empty() ? "" : ", ", kernels::name(other));
    }
    throw lacking(
        gpu, section, "precision",
        wanted == Dtype::fp4 && gpu.socket == hardware::Socket::oam_mi350
            ? "has units for fp4, of which no times are known"
            : fmt::format("has no {} {}", kernels::name(wanted), wanted == Dtype::fp32 ? "products" : units_of(gpu)),
        "legal values: " + legal);
}

/// Tensor cores that take a scale for each 32 elements came with those for fp4 (Blackwell); Transformer Engine refuses
/// the recipe before, and on boards of compute capability 12.0 (transformer_engine/pytorch/fp8.py,
/// check_mxfp8_support).
void check_recipe(const strategies::Training& training, const topology::Gpu& gpu, const Reader& section) {
    if (training.precision.compute != Dtype::fp8 || training.fp8_recipe != strategies::Fp8Recipe::mxfp8) return;
    if (hardware::is_blackwell(gpu.compute_capability)) return;
    throw lacking(gpu, section, "fp8_recipe",
                  gpu.fp4_flops > 0 ? "has tensor cores for mxfp8 that Transformer Engine does not use"
                  : gpu.socket == hardware::Socket::oam_mi350 ? "has units for mxfp8, of which no times are known"
                                                              : fmt::format("has no {} for mxfp8", units_of(gpu)),
                  "legal values: delayed, tensorwise, blockwise");
}

/// What only CUDA and NCCL have changes nothing on a chip without them.
void refuse_on_chip(bool said, const char* key, const char* otherwise, const topology::Gpu& gpu,
                    const Reader& section) {
    if (said && hardware::is_chip(gpu.socket))
        throw lacking(gpu, section, key, otherwise, fmt::format("leave {} out", key));
}

void check_cuda(const strategies::Training& training, const topology::Gpu& gpu, const Reader& section) {
    const auto refuse = [&](bool said, const char* key, const char* otherwise) {
        refuse_on_chip(said, key, otherwise, gpu, section);
    };
    refuse(training.cuda_graph, "cuda_graph", "runs programs that are compiled whole, and has no CUDA graphs");
    refuse(section.has("attention_kernel") && training.attention_kernel != hardware::AttentionKernel::newest,
           "attention_kernel", "has none of the generations of FlashAttention for CUDA");
}

/// Words of one vendor's, of which the other's GPUs have none.
void check_attention_kernel(const topology::Gpu& gpu, const Reader& section) {
    constexpr std::array amds{"aiter", "composable-kernel", "aotriton"};
    constexpr std::array nvidias{"cudnn", "cudnn-9.17"};
    const std::string said = section.choice("attention_kernel", "");
    const hardware::Vendor vendor = hardware::vendor(gpu.socket);
    if (vendor == hardware::Vendor::amd && std::ranges::count(nvidias, said) > 0)
        throw lacking(gpu, section, "attention_kernel", "has no cuDNN",
                      "legal values: newest, flash-1, flash-1-triton, flash-2, aiter, composable-kernel, aotriton");
    if (vendor == hardware::Vendor::nvidia && std::ranges::count(amds, said) > 0)
        throw lacking(gpu, section, "attention_kernel", fmt::format("has none of AMD's kernels ({})", said),
                      "legal values: newest, flash-1, flash-1-triton, flash-2, cudnn, cudnn-9.17");
}

}  // namespace

void check_offered(const strategies::Training& training, const topology::Gpu& gpu, const Reader& section) {
    check_precision(training.precision.compute, gpu, section);
    check_recipe(training, gpu, section);
    check_cuda(training, gpu, section);
    check_attention_kernel(gpu, section);
}

void check_offered(const strategies::Strategy& strategy, const topology::Gpu& gpu, const Reader& section) {
    constexpr const char* otherwise = "has links of its own, on which rings run along the torus";
    refuse_on_chip(strategy.all_reduce_algorithm != strategies::AllReduceAlgorithm::automatic, "all_reduce_algorithm",
                   otherwise, gpu, section);
    refuse_on_chip(strategy.all_to_all_algorithm != strategies::AllToAllAlgorithm::automatic, "all_to_all_algorithm",
                   otherwise, gpu, section);
}

bool have_flash_attention(const topology::Cluster& cluster) {
    return std::ranges::none_of(cluster.groups(), [](const topology::NodeGroup& group) {
        return hardware::lacks_flash_attention(group.gpu.compute_capability);
    });
}

bool take_either_order(const topology::Cluster& cluster) {
    return std::ranges::all_of(cluster.groups(), [](const topology::NodeGroup& group) {
        return hardware::takes_either_order(group.gpu.compute_capability);
    });
}

}  // namespace orrery::scenarios
