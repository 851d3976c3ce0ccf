#include "calibrate/gpu_facts.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/text.hpp"
#include "hardware/datasheets.hpp"

namespace orrery::calibrate {

namespace {

/// The H100's chip has the same power limit.
constexpr std::string_view hopper_sustained =
    "691.3 TFLOP/s over 8 s without a pause on an H200 at its limit of 700 W (tests/gpu/measured, h200-measured) over "
    "the best of the imported bf16 table, ";
constexpr double hopper_clock = 1439.75 / 1980;
constexpr std::string_view hopper_clock_origin =
    "1,440 of 1,980 MHz while that product ran (tests/gpu/measured, h200-measured)";
constexpr std::string_view b200_sustained =
    "1745 TFLOP/s found by a long search on B200 (mamf-finder, Bekman, ML Engineering) over the best of the imported "
    "bf16 table, ";
constexpr std::string_view gb200_sustained =
    "1822 TFLOP/s found by a long search on GB200 (mamf-finder, Bekman, ML Engineering) over the best of the imported "
    "bf16 table, ";
constexpr std::string_view b300_sustained =
    "1769 TFLOP/s found by a long search on B300 (mamf-finder, Bekman, ML Engineering) over the best of the imported "
    "bf16 table, ";
constexpr std::string_view gb300_sustained =
    "1769 TFLOP/s found by a long search on B300 (mamf-finder, Bekman, ML Engineering), by the datasheets' peaks 1966, "
    "over the best of the imported bf16 table, ";
constexpr std::string_view azure_stream =
    "BabelStream's add and triad (Azure/AI-benchmarking-guide, Azure_Results, HBM bandwidth)";
constexpr double blackwell_stream = 7.35e12;
constexpr std::string_view blackwell_stream_origin =
    "HBM bandwidth of GB200 (Azure, Unpacking NVIDIA GB200 GPU performance on Azure virtual machines)";

// Random data, 10,000 warm-ups: rates that last.
constexpr Product h100_fp8[] = {
    {1024, 1024, 1024, 274.1},  {2048, 2048, 2048, 1011.3},    {4096, 4096, 4096, 1216.9},
    {8192, 8192, 8192, 1290.1}, {16384, 16384, 16384, 1377.3}, {32768, 32768, 32768, 1382.2},
    {1024, 2145, 1024, 410.7},  {6144, 12288, 12288, 1351.4},  {802816, 192, 768, 663.8}};
constexpr Product h200_fp8[] = {
    {1024, 1024, 1024, 290.8},  {2048, 2048, 2048, 1013.4},    {4096, 4096, 4096, 1249.1},
    {8192, 8192, 8192, 1300.6}, {16384, 16384, 16384, 1366.3}, {32768, 32768, 32768, 1349.5},
    {1024, 2145, 1024, 407.9},  {6144, 12288, 12288, 1318.0},  {802816, 192, 768, 717.5}};
constexpr Product gb200_fp8[] = {{1024, 1024, 1024, 489},
                                 {2048, 2048, 2048, 2244},
                                 {4096, 4096, 4096, 2835},
                                 {8192, 8192, 8192, 2877},
                                 {16384, 16384, 16384, 2907}};
constexpr std::string_view azure_fp8 = "Azure/AI-benchmarking-guide, Azure_Results, GEMM CuBLASLt",
                           azure_gb200 = "Azure/AI-benchmarking-guide, GB200, GEMM CuBLASLt",
                           engine_b300 =
                               "TransformerEngine, docs/examples/gemm_profiling: pre-quantised products of a layer on "
                               "B300 take 6.812 ms, 2,815 TFLOP/s; below 16,384 in the shape of GB200's",
                           azure_b200 = "Azure/AI-benchmarking-guide, GB200, GEMM CuBLASLt, by the datasheets' peaks",
                           engine_gb300 =
                               "TransformerEngine, docs/examples/gemm_profiling, on B300, by the datasheets' peaks: "
                               "pre-quantised products of a layer take 6.812 ms; below 16,384 in the shape of GB200's";
/// Products read on one board, for another of the same architecture.
template <std::size_t count>
constexpr std::array<Product, count> scaled(const Product (&products)[count], double factor) {
    std::array<Product, count> all{};
    for (std::size_t i = 0; i < count; ++i) {
        all[i] = products[i];
        all[i].teraflops *= factor;
    }
    return all;
}
/// Peaks of a superchip's board (1,200 and 1,400 W a GPU) over those of the board of eight (1,000 and 1,100 W): 5,000
/// of 4,500 TFLOP/s in fp8, 2,500 of 2,250 in 16 bits, 10 and 15 of 9 and 13.5 PFLOP/s in fp4 (NVIDIA's datasheets).
constexpr double superchip = 2500.0 / 2250.0;
constexpr auto b200_fp8 = scaled(gb200_fp8, 1 / superchip);
/// GB200's cubes, all of them at B300's rate over GB200's.
constexpr auto b300_fp8 = scaled(gb200_fp8, 2815.0 / 2907.0),
               gb300_fp8 = scaled(gb200_fp8, 2815.0 / 2907.0 * superchip);

/// NVFP4 by torch._scaled_mm on random data; its bf16 column, 1,420 TFLOP/s at 8192, is that of a clock that lasts.
constexpr Product b200_fp4[] = {{1024, 1024, 1024, 366},  {1536, 1536, 1536, 1080}, {2048, 2048, 2048, 1680},
                                {3072, 3072, 3072, 3510}, {4096, 4096, 4096, 4460}, {6144, 6144, 6144, 5500},
                                {8192, 8192, 8192, 5370}};
/// The products of that layer: 19.17 TFLOP in 3.764 ms, over B200's cube of about its size.
constexpr double b300_over_b200_fp4 = 5093.0 / 5370.0;
constexpr auto b300_fp4 = scaled(b200_fp4, b300_over_b200_fp4), gb200_fp4 = scaled(b200_fp4, superchip),
               gb300_fp4 = scaled(b200_fp4, b300_over_b200_fp4*superchip);
constexpr std::string_view
    scaled_mm_b200 = "pytorch/ao, pull request 2427: bench_matmul.py --recipe nvfp4 on B200 (torch._scaled_mm)",
    engine_b300_fp4 =
        "TransformerEngine, docs/examples/gemm_profiling: pre-quantised NVFP4 products of a layer on B300 take 3.764 "
        "ms, 5,093 TFLOP/s; other sizes in the shape of B200's (pytorch/ao, pull request 2427)",
    scaled_mm_gb200 =
        "pytorch/ao, pull request 2427: bench_matmul.py --recipe nvfp4 on B200 (torch._scaled_mm), by the "
        "datasheets' peaks",
    engine_gb300_fp4 =
        "TransformerEngine, docs/examples/gemm_profiling, on B300, by the datasheets' peaks: pre-quantised NVFP4 "
        "products of a layer take 3.764 ms; other sizes in the shape of B200's (pytorch/ao, pull request 2427)";

constexpr DeepBench v100_deepbench{.folder = "v100",
                                   .half = "NV_V100_Results_FP16_ip_Mixed_math.csv",
                                   .single = "NV_V100_Results_FP32.csv",
                                   .date = "2018",
                                   .blas = "cuBLAS 9",
                                   .dnn = "cuDNN 7"};
/// The sheets of results/train/DeepBench_NV_P100.xlsx. In 16 bits it multiplies and adds in 32, as training does.
constexpr DeepBench p100_deepbench{.folder = "p100",
                                   .half = "NV_P100_Results_Pseudo_FP16.csv",
                                   .single = "NV_P100_Results_FP32.csv",
                                   .date = "2017",
                                   .blas = "cuBLAS 8",
                                   .dnn = "cuDNN 6"};

constexpr GpuFacts table[] = {
    // The table's board is a workstation's, on PCIe: up to 12% slower than this one.
    {.name = "p100",
     .board = "P100-SXM2-16GB",
     .device = "NVIDIA P100-SXM2",
     .tile_waves = true,
     .sustained = 9.094,
     .best = 9.094,
     .sustained_origin = "no reading of a long run: the best of the imported table in 16 bits, ",
     .backward = flash_2_backward,
     .cache_bytes = 4096 * 1024.0,
     .deepbench = p100_deepbench,
     .over_v100_links = 4 * hardware::nvlink1_bytes_per_second / (6 * hardware::nvlink2_bytes_per_second),
     .measured_on = "NVIDIA P100-PCIE-16GB, the same chip at 9.3 instead of 10.6 TFLOP/s"},
    {.name = "v100",
     .board = "V100-SXM2-16GB",
     .device = "NVIDIA V100-SXM2",
     .tile_waves = true,
     .sustained = 95,
     .best = 110.8,
     .sustained_origin =
         "95 TFLOP/s of products repeated on random data (mli/transformers-benchmarks, V100 16GB) over the "
         "best of DeepBench's, which are the best of repeats, ",
     .short_repeats = true,
     .sustained_single = 14,
     .best_single = 14.6,
     .backward = flash_2_backward,
     .cache_bytes = 6144 * 1024.0,
     .deepbench = v100_deepbench,
     .over_v100_links = 1},
    {.name = "v100-sxm3",
     .board = "V100-SXM3-32GB",
     .device = "NVIDIA V100-SXM3",
     .tile_waves = true,
     .sustained = 110.8,
     .best = 110.8,
     .sustained_origin = "350 W and more instead of 300 (DGX-2 user guide) hold the clock; no separate reading; of ",
     .sustained_single = 14.6,
     .best_single = 14.6,
     .backward = flash_2_backward,
     .cache_bytes = 6144 * 1024.0,
     .deepbench = v100_deepbench,
     .over_v100_links = 1},
    {.name = "a100",
     .board = "A100-SXM4-80GB",
     .device = "NVIDIA A100-SXM4-80GB",
     .gemm = "a100_sxm_sglang-0.5.10_bfloat16.csv",
     .attention = "a100_sxm_sglang-0.5.10_causal_forward_16bit.csv",
     .nccl_system = "a100_sxm",
     .vidur = "a100",
     .send_recv = "a100_dgx_send_recv.csv",
     .tile_waves = true,
     .sustained = 271,
     .best = 290,
     .sustained_origin = "271 TFLOP/s found by a long search for the fastest matrix product (mamf-finder, Bekman, ML "
                         "Engineering) over the best of the imported bf16 table, ",
     .backward = flash_2_backward,
     .stream = 1.70e12,
     .stream_origin = azure_stream,
     .nvswitch_bytes_per_second = 12 * hardware::nvlink3_bytes_per_second},
    // AIConfigurator's readings of NCCL on it, 2 GB/s, are of a machine that is set up wrongly (pcie_collectives).
    {.name = "l40s",
     .board = "L40S",
     .device = "NVIDIA L40S",
     .gemm = "l40s_sglang-0.5.14_bfloat16.csv",
     .gemm_fp8 = "l40s_sglang-0.5.14_fp8.csv",
     .attention = "l40s_sglang-0.5.14_causal_forward_16bit.csv",
     .tile_waves = true,
     .sustained = 257.1,
     .best = 257.1,
     .sustained_origin = "no reading of a long run: the best of the imported bf16 table, ",
     .backward = flash_2_backward},
    // Its attention is FlashInfer's, of FlashAttention-2's design; fp8 and fp4 are cuBLASLt's.
    {.name = "rtx-pro-6000",
     .board = "RTX-PRO-6000",
     .device = "NVIDIA RTX PRO 6000 Blackwell Server Edition",
     .gemm = "rtx_pro_6000_server_sglang-0.5.14_bfloat16.csv",
     .gemm_fp8 = "rtx_pro_6000_server_trtllm-1.3.0rc20_fp8.csv",
     .gemm_fp4 = "rtx_pro_6000_server_trtllm-1.3.0rc20_nvfp4.csv",
     .attention = "rtx_pro_6000_server_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "rtx_pro_6000_server",
     .tile_waves = true,
     .sustained = 426.6,
     .best = 426.6,
     .sustained_origin = "no reading of a long run: the best of the imported bf16 table, ",
     .backward = flash_2_backward,
     .stream = 1.53e12,
     .stream_origin = "the fastest that weights pass a product of 2 tokens (AIConfigurator, sglang 0.5.14, bf16)"},
    {.name = "h100",
     .board = "H100-SXM5-80GB",
     .device = "NVIDIA H100-SXM5-80GB",
     .gemm = "h100_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "h100_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "h100_sxm",
     .vidur = "h100",
     .send_recv = "h100_dgx_send_recv.csv",
     .tile_waves = false,
     .sustained = 691.3,
     .best = 846.2,
     .sustained_origin = hopper_sustained,
     .sustained_clock = hopper_clock,
     .sustained_clock_origin = hopper_clock_origin,
     .backward = flash_3_backward,
     .stream = 2.97e12,
     .stream_origin = azure_stream,
     .fp8 = h100_fp8,
     .fp8_origin = azure_fp8,
     .fp8_licence = "MIT",
     .nvswitch_bytes_per_second = 18 * hardware::nvlink4_bytes_per_second},
    {.name = "h200",
     .board = "H200-SXM-141GB",
     .device = "NVIDIA H200-SXM-141GB",
     .gemm = "h200_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "h200_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "h200_sxm",
     .tile_waves = false,
     .sustained = 691.3,
     .best = 832,
     .sustained_origin = hopper_sustained,
     .sustained_clock = hopper_clock,
     .sustained_clock_origin = hopper_clock_origin,
     .backward = flash_3_backward,
     .stream = 4.15e12,
     .stream_origin = azure_stream,
     .fp8 = h200_fp8,
     .fp8_origin = azure_fp8,
     .fp8_licence = "MIT",
     .nvswitch_bytes_per_second = 18 * hardware::nvlink4_bytes_per_second},
    // Its tensor cores are a sixth of an H200's, and what holds everything else up too: products reach 95% of the
    // peak, those of 61 ms as those of three.
    {.name = "h20",
     .board = "H20-SXM-96GB",
     .device = "NVIDIA H20-SXM-96GB",
     .infersim = "h20",
     .nccl_system = "h200_sxm",
     .nccl_of = "NVIDIA H200-SXM-141GB, which has the same NVLinks",
     .tile_waves = false,
     .sustained = 140.9,
     .best = 140.9,
     .sustained_origin = "products of 61 ms are as near to the peak as those of 3: the best of the table, ",
     .backward = flash_3_backward,
     .stream = 3.35e12,
     .stream_origin = "keys and values that pass FlashInfer's decoding (Alibaba InferSim, bench_data/mha/decode/h20)",
     .nvswitch_bytes_per_second = 18 * hardware::nvlink4_bytes_per_second},
    {.name = "b200",
     .board = "B200",
     .device = "NVIDIA B200-SXM-180GB",
     .gemm = "b200_sxm_sglang-0.5.14_bfloat16.csv",
     .attention = "b200_sxm_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "b200_sxm",
     .tile_waves = false,
     .sustained = 1745,
     .best = 1704.5,
     .sustained_origin = b200_sustained,
     .backward = flash_3_backward,
     .stream = blackwell_stream,
     .stream_origin = blackwell_stream_origin,
     .fp8 = b200_fp8,
     .fp8_origin = azure_b200,
     .fp8_licence = "MIT",
     .fp4 = b200_fp4,
     .fp4_origin = scaled_mm_b200},
    {.name = "gb200",
     .board = "GB200",
     .device = "NVIDIA GB200-186GB",
     .gemm = "gb200_sglang-0.5.14_bfloat16.csv",
     .attention = "gb200_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "gb200",
     .tile_waves = false,
     .sustained = 1822,
     .best = 1903.1,
     .sustained_origin = gb200_sustained,
     .backward = flash_3_backward,
     .stream = blackwell_stream,
     .stream_origin = blackwell_stream_origin,
     .fp8 = gb200_fp8,
     .fp8_origin = azure_gb200,
     .fp8_licence = "MIT",
     .fp4 = gb200_fp4,
     .fp4_origin = scaled_mm_gb200},
    {.name = "b300",
     .board = "B300",
     .device = "NVIDIA B300-288GB",
     .gemm = "gb300_sglang-0.5.14_bfloat16.csv",
     .attention = "gb300_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "b300_sxm",
     .tile_waves = false,
     .sustained = 1769,
     .best = 2089.8,
     .sustained_origin = b300_sustained,
     .backward = flash_3_backward,
     .stream = blackwell_stream,
     .stream_origin = blackwell_stream_origin,
     .fp8 = b300_fp8,
     .fp8_origin = engine_b300,
     .fp8_licence = "MIT, Apache-2.0",
     .fp4 = b300_fp4,
     .fp4_origin = engine_b300_fp4,
     .measured_on = "NVIDIA GB300-288GB, the same chip with more power"},
    {.name = "gb300",
     .board = "GB300",
     .device = "NVIDIA GB300-288GB",
     .gemm = "gb300_sglang-0.5.14_bfloat16.csv",
     .attention = "gb300_sglang-0.5.14_causal_forward_16bit.csv",
     .nccl_system = "gb300",
     .tile_waves = false,
     .sustained = 1769 * superchip,
     .best = 2089.8,
     .sustained_origin = gb300_sustained,
     .backward = flash_3_backward,
     .stream = blackwell_stream,
     .stream_origin = blackwell_stream_origin,
     .fp8 = gb300_fp8,
     .fp8_origin = engine_gb300,
     .fp8_licence = "MIT, Apache-2.0",
     .fp4 = gb300_fp4,
     .fp4_origin = engine_gb300_fp4},
};

}  // namespace

std::span<const GpuFacts> gpu_facts() { return table; }

namespace {

/// Its letters, small, and digits: a driver writes "RTX PRO 6000" and a board is "RTX-PRO-6000".
std::string plain(std::string_view text) {
    std::string kept = lower(text);
    std::erase_if(kept, [](char c) { return c == ' ' || c == '-'; });
    return kept;
}

bool has_digit(std::string_view text) { return text.find_first_of("0123456789") != std::string_view::npos; }

}  // namespace

std::string_view gpu_in(std::string_view device) {
    const std::string words = plain(device);
    std::string_view found;
    std::size_t longest = 0;  // a gb200 is no b200
    for (const hardware::Gpu& gpu : hardware::gpus()) {
        if (gpu.socket == hardware::Socket::core) continue;
        // A board may go by another's profile: an A800 is an A100.
        for (const std::string& word : {plain(gpu.profile), plain(gpu.name.substr(0, gpu.name.find('-')))}) {
            if (word.size() <= longest || !has_digit(word) || words.find(word) == std::string::npos) continue;
            longest = word.size();
            found = gpu.profile;
        }
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

}  // namespace orrery::calibrate
