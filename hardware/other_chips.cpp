// Google's TPUs, and a core of a CPU.
#include "hardware/gpu_rows.hpp"

namespace orrery::hardware {

namespace {

constexpr GpuRow rows[] = {
    // Table 4, a chip: 123 and 275 TFLOP/s in bf16, 32 GiB, 900 and 1,200 GB/s.
    {"TPU-v3",
     "tpu-v3",
     "Jouppi et al., TPU v4, ISCA 2023",
     32,
     900,
     0,
     0,
     123,
     0,
     Socket::chip,
     0,
     0,
     Host::none,
     {"TPUv3"}},
    {"TPU-v4",
     "tpu-v4",
     "Jouppi et al., TPU v4, ISCA 2023",
     32,
     1200,
     0,
     0,
     275,
     0,
     Socket::chip,
     0,
     0,
     Host::none,
     {"TPUv4"}},
    // Cloud TPU documentation, a chip: 197 TFLOP/s in bf16, 16 GB of HBM2 at 819 GB/s.
    {"TPU-v5e",
     "tpu-v5e",
     "Google Cloud documentation, TPU v5e",
     16,
     819,
     0,
     0,
     197,
     0,
     Socket::chip,
     0,
     0,
     Host::none,
     {"TPUv5e", "v5litepod"}},
    // The same, of v5p: 459 TFLOP/s, 95 GB of HBM2e at 2,765 GB/s.
    {"TPU-v5p",
     "tpu-v5p",
     "Google Cloud documentation, TPU v5p",
     95,
     2765,
     0,
     0,
     459,
     0,
     Socket::chip,
     0,
     0,
     Host::none,
     {"TPUv5p"}},
    // A core of an AMD EPYC 9755: 4.1 GHz boost (product page), two 512-bit fused multiply-adds a cycle (Software
    // Optimization Guide for family 1Ah), each of which adds twice as many products of bf16 (VDPBF16PS); no fp16. Its
    // share of bandwidth is the profile's; memory of a vCPU of AWS's m6a hosts.
    {"CPU-core",
     "cpu",
     "AMD EPYC 9755 product page",
     4,
     0,
     0.262,
     0,
     0.525,
     0,
     Socket::core,
     0,
     0,
     Host::none,
     {"CPU"}},
};

}  // namespace

std::span<const GpuRow> other_chips() { return rows; }

}  // namespace orrery::hardware
