#include "hardware/gpu.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.hpp"

namespace orrery::hardware {

namespace {

constexpr std::uint64_t GiB = std::uint64_t{1} << 30;
constexpr double G = 1e9, T = 1e12;

using Host = HostProcessor;
using Aliases = std::array<std::string_view, 3>;

struct Row {
    const char *name, *profile, *datasheet;
    std::uint64_t gibibytes;
    double gigabytes_per_second;
    double fp32, tf32, half, fp8;  ///< dense TFLOP/s
    Socket socket;
    std::uint32_t multiprocessors;
    int compute_capability;  ///< CUDA C++ programming guide
    Host host;
    Aliases aliases;
    double fp4 = 0;             ///< dense TFLOP/s of NVFP4
    std::uint32_t nvlinks = 0;  ///< 0: as many as boards of its socket have
};

// Dense peaks without structured sparsity; memory as the driver reports it (a "80GB" board has 80 GiB).
constexpr Row a100_80gb{"A100-SXM4-80GB",
                        "a100",
                        "NVIDIA A100 80GB SXM datasheet",
                        80,
                        2039,
                        19.5,
                        156,
                        312,
                        0,
                        Socket::nvlink3,
                        108,
                        80,
                        Host::epyc_7742,
                        {"A100", "A100-80GB"}};
// H100 whitepaper v1.04, table 2.
constexpr Row h100{"H100-SXM5-80GB",
                   "h100",
                   "NVIDIA H100 SXM datasheet",
                   80,
                   3350,
                   66.9,
                   494.7,
                   989.4,
                   1978.9,
                   Socket::nvlink4,
                   132,
                   90,
                   Host::xeon_8480c,
                   {"H100", "H100-80GB"}};

constexpr Row renamed(Row board, const char* name, const char* datasheet, Aliases aliases) {
    board.name = name;
    board.datasheet = datasheet;
    board.aliases = aliases;
    return board;
}

/// The same board under another name, with fewer NVLinks.
constexpr Row with_nvlinks(Row board, std::uint32_t nvlinks, const char* name, const char* datasheet, Aliases aliases) {
    board.nvlinks = nvlinks;
    return renamed(board, name, datasheet, aliases);
}

/// The same board with other memory.
constexpr Row with_memory(Row board, std::uint64_t gibibytes, double gigabytes_per_second, const char* name,
                          const char* datasheet, Aliases aliases) {
    board.gibibytes = gibibytes;
    board.gigabytes_per_second = gigabytes_per_second;
    return renamed(board, name, datasheet, aliases);
}

/// H100's chip and peaks on a board with a Grace: 96 GB of HBM3.
constexpr Row grace_hopper() {
    Row board = with_memory(h100, 95, 4000, "GH200-96GB", "NVIDIA GH200 datasheet", {"GH200"});
    board.socket = Socket::grace_hopper;
    board.host = Host::grace;
    return board;
}

constexpr Row rows[] = {
    // Whitepaper WP-08019, table 1: FP16 without tensor cores.
    {"P100-SXM2-16GB",
     "p100",
     "Tesla P100 whitepaper",
     16,
     732,
     10.6,
     0,
     21.2,
     0,
     Socket::nvlink1,
     56,
     60,
     Host::xeon_e5_2698_v4,
     {"P100", "P100-16GB"}},
    // Whitepaper WP-08608, table 1, and datasheet (March 2018).
    {"V100-SXM2-16GB",
     "v100",
     "NVIDIA V100 datasheet, SXM2",
     16,
     900,
     15.7,
     0,
     125,
     0,
     Socket::nvlink2,
     80,
     70,
     Host::xeon_e5_2698_v4,
     {"V100", "V100-16GB"}},
    {"V100-SXM2-32GB",
     "v100",
     "NVIDIA V100 datasheet, SXM2",
     32,
     900,
     15.7,
     0,
     125,
     0,
     Socket::nvlink2,
     80,
     70,
     Host::xeon_e5_2698_v4,
     {"V100-32GB"}},
    // 16 GPUs, 512 GB, 2 PFLOP/s. Its Xeon 8168 is taken for as fast as the DGX-1's processor.
    {"V100-SXM3-32GB",
     "v100-sxm3",
     "DGX-2 datasheet",
     32,
     900,
     15.7,
     0,
     125,
     0,
     Socket::nvlink2,
     80,
     70,
     Host::xeon_e5_2698_v4,
     {}},
    // June 2021.
    {"A100-SXM4-40GB",
     "a100",
     "NVIDIA A100 40GB SXM datasheet",
     40,
     1555,
     19.5,
     156,
     312,
     0,
     Socket::nvlink3,
     108,
     80,
     Host::epyc_7742,
     {"A100-40GB"}},
    a100_80gb,
    // 400 GB/s in both directions.
    with_nvlinks(a100_80gb, 8, "A800-SXM4-80GB", "NVIDIA A800 datasheet", {"A800", "A800-80GB"}),
    h100,
    // Sold as 96 GB; 94 GiB and 2.41 TB/s as NHR@FAU's cluster has it (Ujeniya et al. 2026, arXiv:2604.11391).
    with_memory(h100, 94, 2410, "H100-SXM5-96GB", "Ujeniya et al. 2026, H100 with HBM2e", {"H100-96GB", "H100-HBM2e"}),
    // 400 GB/s in both directions (DeepSeek-AI 2025, arXiv:2505.09343, section 4.1).
    with_nvlinks(h100, 8, "H800-SXM5-80GB", "NVIDIA H100 SXM datasheet", {"H800", "H800-80GB"}),
    grace_hopper(),
    // A Hopper of 78 multiprocessors, for China like the 800s, with all NVLinks.
    {"H20-SXM-96GB",
     "h20",
     "NVIDIA H20 datasheet",
     96,
     4000,
     44,
     74,
     148,
     296,
     Socket::nvlink4,
     78,
     90,
     Host::xeon_8480c,
     {"H20", "H20-96GB"}},
    // H100's peaks, 141 GB, 4.8 TB/s.
    {"H200-SXM-141GB",
     "h200",
     "NVIDIA H200 SXM datasheet",
     141,
     4800,
     66.9,
     494.7,
     989.4,
     1978.9,
     Socket::nvlink4,
     132,
     90,
     Host::xeon_8480c,
     {"H200", "H200-141GB"}},
    // DGX B200 datasheet (1,440 GB, 64 TB/s) and HGX B200 (sparse 18/36/72 PFLOP/s, FP4 144, FP32 600 TFLOP/s), over 8
    // and over 2 for dense.
    {"B200",
     "b200",
     "NVIDIA HGX B200 datasheet",
     180,
     8000,
     75,
     1125,
     2250,
     4500,
     Socket::nvlink5,
     148,
     100,
     Host::xeon_8570,
     {"B200-180GB", "B200-SXM"},
     9000},
    // 288 GB (268 GiB) and 8 TB/s a GPU; dense peaks of B200, but in FP4: 108 PFLOP/s dense over 8.
    {"B300",
     "b300",
     "NVIDIA HGX B300 datasheet",
     268,
     8000,
     75,
     1125,
     2250,
     4500,
     Socket::nvlink5,
     0,
     103,
     Host::xeon_8570,
     {"B300-288GB"},
     13500},
    // Over 72: 13.4 TB, 576 TB/s, FP32 5,760 TFLOP/s, sparse 180/360/720 PFLOP/s, FP4 1,440.
    {"GB200",
     "gb200",
     "NVIDIA GB200 NVL72 datasheet",
     186,
     8000,
     80,
     1250,
     2500,
     5000,
     Socket::grace,
     152,
     100,
     Host::grace,
     {"GB200-186GB", "GB200-NVL72"},
     10000},
    // Over 72: 288 GB (268 GiB) a GPU, 576 TB/s, sparse 180/360/720 PFLOP/s, FP4 1,080 dense.
    {"GB300",
     "gb300",
     "NVIDIA GB300 NVL72 datasheet",
     268,
     8000,
     80,
     1250,
     2500,
     5000,
     Socket::grace,
     152,
     103,
     Host::grace,
     {"GB300-288GB", "GB300-NVL72"},
     15000},
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
    // 48 GB GDDR6, 864 GB/s, PCIe Gen4. Servers of its time have processors like the DGX H100's.
    {"L40S",
     "l40s",
     "NVIDIA L40S datasheet",
     48,
     864,
     91.6,
     183,
     362,
     733,
     Socket::pcie,
     142,
     89,
     Host::xeon_8480c,
     {"L40S-48GB"}},
    // The server edition, 188 multiprocessors of 1,024 operations a cycle in 16 bits, dense (GB202; RTX Blackwell PRO
    // architecture), at the highest clock that its driver tells, 2,430 MHz; 97,887 MiB of GDDR7 (AIConfigurator,
    // systems/rtx_pro_6000_server.yaml).
    {"RTX-PRO-6000",
     "rtx-pro-6000",
     "NVIDIA RTX Blackwell PRO architecture, at 2,430 MHz",
     95,
     1792,
     116.9,
     233.9,
     467.8,
     935.6,
     Socket::pcie,
     188,
     120,
     Host::xeon_8480c,
     {"RTX PRO 6000", "RTX-PRO-6000-96GB", "RTX-PRO-6000-Server"},
     1871.2},
};

std::vector<Gpu> make_gpus() {
    std::vector<Gpu> result;
    for (const Row& r : rows) {
        result.push_back({.name = r.name,
                          .profile = r.profile,
                          .memory_bytes = r.gibibytes * GiB,
                          .memory_bytes_per_second = r.gigabytes_per_second * G,
                          .fp32_flops = r.fp32 * T,
                          .tf32_flops = r.tf32 * T,
                          .half_flops = r.half * T,
                          .fp8_flops = r.fp8 * T,
                          .fp4_flops = r.fp4 * T,
                          .bf16 = r.tf32 > 0 || is_chip(r.socket) || r.socket == Socket::core,
                          .fp16 = r.half > 0 && r.socket != Socket::core,
                          .socket = r.socket,
                          .multiprocessors = r.multiprocessors,
                          .compute_capability = r.compute_capability,
                          .host = r.host,
                          .nvlinks = r.nvlinks,
                          .datasheet = r.datasheet});
    }
    return result;
}

bool answers_to(const Row& row, const std::string& wanted) {
    return lower(row.name) == wanted ||
           std::ranges::any_of(row.aliases, [&](std::string_view a) { return !a.empty() && lower(a) == wanted; });
}

}  // namespace

std::span<const Gpu> gpus() {
    static const std::vector<Gpu> table = make_gpus();
    return table;
}

const Gpu* find(std::string_view name) {
    const auto row = std::ranges::find_if(rows, [wanted = lower(name)](const Row& r) { return answers_to(r, wanted); });
    return row == std::end(rows) ? nullptr : &gpus()[static_cast<std::size_t>(row - std::begin(rows))];
}

std::span<const std::string_view> names() {
    static const std::vector<std::string_view> all = [] {
        std::vector<std::string_view> result;
        for (const Row& row : rows) {
            result.emplace_back(row.name);
            std::ranges::copy_if(row.aliases, std::back_inserter(result), [](auto alias) { return !alias.empty(); });
        }
        return result;
    }();
    return all;
}

std::string gpus_with(Socket socket) {
    std::string text;
    for (const Row& row : rows) {
        if (row.socket == socket) text += (text.empty() ? "" : ", ") + std::string(row.name);
    }
    return text;
}

}  // namespace orrery::hardware
