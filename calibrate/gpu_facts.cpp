#include "calibrate/gpu_facts.hpp"

#include <algorithm>
#include <cctype>

namespace orrery::calibrate {

namespace {

constexpr std::string_view hopper_sustained =
    "794 TFLOP/s found by a long search for the fastest matrix product (mamf-finder, Bekman, ML Engineering) over 846 "
    "TFLOP/s, the best of the imported bf16 table";
constexpr std::string_view blackwell_sustained =
    "1745 TFLOP/s on B200 found by a long search (mamf-finder, Bekman, ML Engineering) over 1930 TFLOP/s, the middle "
    "of "
    "the best rates of the published B200 and GB300 tables (1705 to 2102); no reading for this GPU alone";
constexpr std::string_view flash_3 =
    "561 of 648 TFLOP/s, backward of forward, H100, head width 128, 16k tokens (FlashAttention-3, figures 5 and 6)";
constexpr std::string_view flash_2 =
    "63% of the peak backward, 73% forward on A100 (FlashAttention-2, abstract and section 4.1)";
constexpr std::string_view hopper_network =
    "369.9 of 400 GB/s: nccl-tests all_reduce of 16 GiB on 16 nodes of 8 H200 with 3200 Gb/s each";

constexpr GpuFacts table[] = {
    {.name = "v100",
     .device = "NVIDIA V100-SXM2",
     .gemm = "",
     .attention = "",
     .nccl_system = "",
     .vidur = "",
     .send_recv = "",
     .half_tflops = 125,
     .fp8_tflops = 0,
     .tf32_tflops = 0,
     .single_tflops = 15.7,
     .memory_gbytes = 900,
     .multiprocessors = 80,
     .datasheet = "NVIDIA V100 datasheet, SXM2",
     .tile_waves = true,
     .sustained = 1.0,
     .sustained_origin = "DeepBench ran at ordinary clocks already; no separate reading",
     .backward_rate = 0.863,
     .backward_origin = flash_2,
     .network = 0.96,
     .network_origin = "48 of 50 GB/s: all_reduce of DGX-1 with 4 x EDR (nccl-tests issue 29)",
     .dispatch_us = 50,
     .host = "Xeon E5-2698 v4 of DGX-1"},
    {.name = "a100",
     .device = "NVIDIA A100-SXM4-80GB",
     .gemm = "a100_sxm_sglang-0.5.10_bfloat16.csv",
     .attention = "a100_sxm_sglang-0.5.10_causal_forward_16bit.csv",
     .nccl_system = "a100_sxm",
     .vidur = "a100",
     .send_recv = "a100_dgx_send_recv.csv",
     .half_tflops = 312,
     .fp8_tflops = 0,
     .tf32_tflops = 156,
     .single_tflops = 19.5,
     .memory_gbytes = 2039,
     .multiprocessors = 108,
     .datasheet = "NVIDIA A100 80GB SXM datasheet",
     .tile_waves = true,
     .sustained = 271.0 / 290.0,
     .sustained_origin = "271 TFLOP/s found by a long search for the fastest matrix product (mamf-finder, Bekman, "
                         "ML Engineering) over 290 TFLOP/s, the best of the imported bf16 table",
     .backward_rate = 0.863,
     .backward_origin = flash_2,
     .network = 0.95,
     .network_origin = "190.0 of 200 GB/s: nccl-tests all_reduce of 4 GiB on 2 nodes of 8 A100 with 1600 Gb/s each; "
                       "96 of 100 GB/s with 4 x HDR (nccl-tests issue 119)",
     .dispatch_us = 48,
     .host = "EPYC 7742 of DGX A100"},
    {.name = "h100",
     .device = "NVIDIA H100-SXM5-80GB",
     .gemm = "h100_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "h100_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "h100_sxm",
     .vidur = "h100",
     .send_recv = "h100_dgx_send_recv.csv",
     .half_tflops = 989.4,
     .fp8_tflops = 1978.9,
     .tf32_tflops = 494.7,
     .single_tflops = 66.9,
     .memory_gbytes = 3350,
     .multiprocessors = 132,
     .datasheet = "NVIDIA H100 SXM datasheet",
     .tile_waves = false,
     .sustained = 794.0 / 846.0,
     .sustained_origin = hopper_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3,
     .network = 0.925,
     .network_origin = hopper_network,
     .dispatch_us = 32,
     .host = "Xeon 8480C of DGX H100"},
    {.name = "h200",
     .device = "NVIDIA H200-SXM-141GB",
     .gemm = "h200_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "h200_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "h200_sxm",
     .vidur = "",
     .send_recv = "",
     .half_tflops = 989.4,
     .fp8_tflops = 1978.9,
     .tf32_tflops = 494.7,
     .single_tflops = 66.9,
     .memory_gbytes = 4800,
     .multiprocessors = 132,
     .datasheet = "NVIDIA H200 SXM datasheet",
     .tile_waves = false,
     .sustained = 794.0 / 846.0,
     .sustained_origin = hopper_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3,
     .network = 0.925,
     .network_origin = hopper_network,
     .dispatch_us = 32,
     .host = "Xeon 8480C of DGX H200"},
    {.name = "b200",
     .device = "NVIDIA B200-SXM-180GB",
     .gemm = "b200_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "b200_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "b200_sxm",
     .vidur = "",
     .send_recv = "",
     .half_tflops = 2250,
     .fp8_tflops = 4500,
     .tf32_tflops = 1125,
     .single_tflops = 75,
     .memory_gbytes = 8000,
     .multiprocessors = 148,
     .datasheet = "NVIDIA HGX B200 datasheet",
     .tile_waves = false,
     .sustained = 1745.0 / 1930.0,
     .sustained_origin = blackwell_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3,
     .network = 0.925,
     .network_origin = hopper_network,
     .dispatch_us = 30,
     .host = "Xeon 8570 of DGX B200"},
    {.name = "gb200",
     .device = "NVIDIA GB200-186GB",
     .gemm = "gb200_sglang-0.5.14_bfloat16.csv",
     .attention = "gb200_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "gb200",
     .vidur = "",
     .send_recv = "",
     .half_tflops = 2500,
     .fp8_tflops = 5000,
     .tf32_tflops = 1250,
     .single_tflops = 80,
     .memory_gbytes = 8000,
     .multiprocessors = 152,
     .datasheet = "NVIDIA GB200 NVL72 datasheet",
     .tile_waves = false,
     .sustained = 1745.0 / 1930.0,
     .sustained_origin = blackwell_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3,
     .network = 0.925,
     .network_origin = hopper_network,
     .dispatch_us = 36,
     .host = "Grace"},
    {.name = "gb300",
     .device = "NVIDIA GB300-288GB",
     .gemm = "gb300_sglang-0.5.14_bfloat16.csv",
     .attention = "gb300_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "gb300",
     .vidur = "",
     .send_recv = "",
     .half_tflops = 2500,
     .fp8_tflops = 5000,
     .tf32_tflops = 1250,
     .single_tflops = 80,
     .memory_gbytes = 8000,
     .multiprocessors = 152,
     .datasheet = "NVIDIA GB300 NVL72 datasheet",
     .tile_waves = false,
     .sustained = 1745.0 / 1930.0,
     .sustained_origin = blackwell_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3,
     .network = 0.925,
     .network_origin = hopper_network,
     .dispatch_us = 36,
     .host = "Grace"},
};

}  // namespace

std::span<const GpuFacts> gpu_facts() { return table; }

const GpuFacts* facts_of_device(std::string_view device) {
    std::string lower(device);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const GpuFacts* found = nullptr;
    for (const GpuFacts& facts : table)  // the longest name: a gb200 is no b200
        if (lower.find(facts.name) != std::string::npos && (found == nullptr || facts.name.size() > found->name.size()))
            found = &facts;
    return found;
}

std::map<std::string, Constant> constants_of(const GpuFacts& facts) {
    const std::string sheet(facts.datasheet);
    std::map<std::string, Constant> out{
        {"peak_half_flops", {facts.half_tflops * 1e12, "flop/s", sheet}},
        {"peak_single_flops", {facts.single_tflops * 1e12, "flop/s", sheet}},
        {"memory_bytes_per_second", {facts.memory_gbytes * 1e9, "B/s", sheet}},
        {"multiprocessors", {facts.multiprocessors, "1", "as the device reports them (cudaDeviceProp)"}},
        {"sustained_gemm", {facts.sustained, "1", std::string(facts.sustained_origin)}},
        {"attention_backward_rate", {facts.backward_rate, "1", std::string(facts.backward_origin)}},
        {"network_efficiency", {facts.network, "1", std::string(facts.network_origin)}},
        {"kernel_gap_seconds",
         {0.9e-6, "s",
          "3.8 us a kernel in a stream against 2.9 us of execution (NVIDIA blog, Getting Started with CUDA Graphs, "
          "2019)"}},
        {"dispatch_seconds",
         {facts.dispatch_us * 1e-6, "s",
          "estimate: 16 us per kernel of a Megatron-LM layer measured with tools/host_overhead.py on an EPYC of 2024, "
          "scaled to the " + std::string(facts.host) + ", plus CUDA launches (calibrate/README.md)"}},
        {"collective_launch_seconds",
         {1.8e-6, "s", "two stream-event waits around the collective, each one kernel_gap_seconds"}},
        {"overlap_slowdown",
         {1.189, "1",
          "average slow-down of computation beside communication on A100, H100, MI210 and MI250 (Lee et al., "
          "arXiv 2507.03114)"}},
    };
    if (facts.fp8_tflops > 0) out["peak_fp8_flops"] = {facts.fp8_tflops * 1e12, "flop/s", sheet};
    if (facts.tf32_tflops > 0) out["peak_tf32_flops"] = {facts.tf32_tflops * 1e12, "flop/s", sheet};
    if (facts.tile_waves)
        out["tile_waves"] = {1, "1", "lower held-out error of the GEMM table than without waves (calibrate/README.md)"};
    return out;
}

}  // namespace orrery::calibrate
