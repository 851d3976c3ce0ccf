// What is known of each importable GPU besides its tables: datasheet numbers and constants with their origins.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

struct GpuFacts {
    std::string_view name, device;
    std::string_view gemm;         ///< file in gemm/ ("" when there is none)
    std::string_view attention;    ///< file in attention/ ("" when there is none)
    std::string_view nccl_system;  ///< its name in nccl_one_node.csv ("" when it is not there)
    std::string_view vidur;        ///< prefix of its files in memory_bound/ ("" when there is none)
    std::string_view send_recv;    ///< file in collectives/ ("" when there is none)
    /// TFLOP/s without sparsity (0: the GPU lacks the format), GB/s of memory, multiprocessors.
    double half_tflops, fp8_tflops, tf32_tflops, single_tflops, memory_gbytes, multiprocessors;
    std::string_view datasheet;
    bool tile_waves;
    double sustained;
    std::string_view sustained_origin;
    double backward_rate;
    std::string_view backward_origin;
    double network;
    std::string_view network_origin;
    double dispatch_us;            ///< host time per kernel of an eager framework (calibrate/README.md)
    std::string_view host;         ///< the processor of that GPU's reference node
};

/// Oldest GPU first.
std::span<const GpuFacts> gpu_facts();

/// The GPU that a driver's name means: "NVIDIA H100 80GB HBM3" is "h100". Null for another.
const GpuFacts* facts_of_device(std::string_view device);

/// The constants of a profile, each with unit and origin.
std::map<std::string, Constant> constants_of(const GpuFacts& facts);

}  // namespace orrery::calibrate
