#include "calibrate/gpu_facts.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

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

constexpr GpuFacts table[] = {
    {.name = "v100",
     .board = "V100-SXM2-16GB",
     .device = "NVIDIA V100-SXM2",
     .gemm = "",
     .attention = "",
     .nccl_system = "",
     .vidur = "",
     .send_recv = "",
     .tile_waves = true,
     .sustained = 1.0,
     .sustained_origin = "DeepBench ran at ordinary clocks already; no separate reading",
     .backward_rate = 0.863,
     .backward_origin = flash_2},
    {.name = "a100",
     .board = "A100-SXM4-80GB",
     .device = "NVIDIA A100-SXM4-80GB",
     .gemm = "a100_sxm_sglang-0.5.10_bfloat16.csv",
     .attention = "a100_sxm_sglang-0.5.10_causal_forward_16bit.csv",
     .nccl_system = "a100_sxm",
     .vidur = "a100",
     .send_recv = "a100_dgx_send_recv.csv",
     .tile_waves = true,
     .sustained = 271.0 / 290.0,
     .sustained_origin = "271 TFLOP/s found by a long search for the fastest matrix product (mamf-finder, Bekman, "
                         "ML Engineering) over 290 TFLOP/s, the best of the imported bf16 table",
     .backward_rate = 0.863,
     .backward_origin = flash_2},
    {.name = "h100",
     .board = "H100-SXM5-80GB",
     .device = "NVIDIA H100-SXM5-80GB",
     .gemm = "h100_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "h100_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "h100_sxm",
     .vidur = "h100",
     .send_recv = "h100_dgx_send_recv.csv",
     .tile_waves = false,
     .sustained = 794.0 / 846.0,
     .sustained_origin = hopper_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3},
    {.name = "h200",
     .board = "H200-SXM-141GB",
     .device = "NVIDIA H200-SXM-141GB",
     .gemm = "h200_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "h200_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "h200_sxm",
     .vidur = "",
     .send_recv = "",
     .tile_waves = false,
     .sustained = 794.0 / 846.0,
     .sustained_origin = hopper_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3},
    {.name = "b200",
     .board = "B200",
     .device = "NVIDIA B200-SXM-180GB",
     .gemm = "b200_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "b200_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "b200_sxm",
     .vidur = "",
     .send_recv = "",
     .tile_waves = false,
     .sustained = 1745.0 / 1930.0,
     .sustained_origin = blackwell_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3},
    {.name = "gb200",
     .board = "GB200",
     .device = "NVIDIA GB200-186GB",
     .gemm = "gb200_sglang-0.5.14_bfloat16.csv",
     .attention = "gb200_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "gb200",
     .vidur = "",
     .send_recv = "",
     .tile_waves = false,
     .sustained = 1745.0 / 1930.0,
     .sustained_origin = blackwell_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3},
    {.name = "gb300",
     .board = "GB300",
     .device = "NVIDIA GB300-288GB",
     .gemm = "gb300_sglang-0.5.14_bfloat16.csv",
     .attention = "gb300_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "gb300",
     .vidur = "",
     .send_recv = "",
     .tile_waves = false,
     .sustained = 1745.0 / 1930.0,
     .sustained_origin = blackwell_sustained,
     .backward_rate = 0.866,
     .backward_origin = flash_3},
};

}  // namespace

std::span<const GpuFacts> gpu_facts() { return table; }

std::string_view gpu_in(std::string_view device) {
    std::string lower(device);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    std::string_view found;
    for (const hardware::Gpu& gpu : hardware::gpus()) {
        if (gpu.socket == hardware::Socket::core) continue;
        if (lower.find(gpu.profile) != std::string::npos && gpu.profile.size() > found.size())
            found = gpu.profile;  // the longest name: a gb200 is no b200
    }
    return found;
}

const GpuFacts* facts_of_device(std::string_view device) {
    const auto found = std::ranges::find(table, gpu_in(device), &GpuFacts::name);
    return found == std::end(table) ? nullptr : found;
}

const hardware::Gpu& board_of(const GpuFacts& facts) {
    const hardware::Gpu* const board = hardware::find(facts.board);
    if (board == nullptr) throw std::logic_error("no board " + std::string(facts.board));
    return *board;
}

std::map<std::string, Constant> constants_of(const GpuFacts& facts) {
    const hardware::Gpu& board = board_of(facts);
    std::map<std::string, Constant> out{
        {"peak_half_flops", {board.half_flops, "flop/s", board.datasheet}},
        {"peak_single_flops", {board.fp32_flops, "flop/s", board.datasheet}},
        {"memory_bytes_per_second", {board.memory_bytes_per_second, "B/s", board.datasheet}},
        {"multiprocessors",
         {static_cast<double>(board.multiprocessors), "1", "as the device reports them (cudaDeviceProp)"}},
        {"sustained_gemm", {facts.sustained, "1", std::string(facts.sustained_origin)}},
        {"attention_backward_rate", {facts.backward_rate, "1", std::string(facts.backward_origin)}},
        {"kernel_gap_seconds",
         {0.9e-6, "s",
          "3.8 us a kernel in a stream against 2.9 us of execution (NVIDIA blog, Getting Started with CUDA Graphs, "
          "2019)"}},
        {"launch_seconds", {hardware::launch_seconds(board.host), "s", std::string(hardware::launch_origin)}},
        {"collective_launch_seconds",
         {1.8e-6, "s", "two stream-event waits around the collective, each one kernel_gap_seconds"}},
        {"overlap_slowdown",
         {1.189, "1",
          "average slow-down of computation beside communication on A100, H100, MI210 and MI250 (Lee et al., "
          "arXiv 2507.03114)"}},
    };
    if (board.fp8_flops > 0) out["peak_fp8_flops"] = {board.fp8_flops, "flop/s", board.datasheet};
    if (board.tf32_flops > 0) out["peak_tf32_flops"] = {board.tf32_flops, "flop/s", board.datasheet};
    if (facts.tile_waves)
        out["tile_waves"] = {1, "1", "lower held-out error of the GEMM table than without waves (calibrate/README.md)"};
    return out;
}

}  // namespace orrery::calibrate
