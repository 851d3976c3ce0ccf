#include "topology/gpu.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "topology/catalog.hpp"

namespace orrery::topology {

namespace {

constexpr std::uint64_t GiB = std::uint64_t{1} << 30;
constexpr double T = 1e12;

struct Row {
    const char *name, *profile;
    double gibibytes, terabytes_per_second;
    double fp32, tf32, half, fp8;  ///< dense TFLOP/s
    Socket socket;
    std::array<std::string_view, 3> aliases;
};

// Dense peaks without structured sparsity; memory as the driver reports it (a "80GB" board has 80 GiB).
constexpr Row rows[] = {
    // Tesla P100 whitepaper WP-08019, table 1: FP16 without tensor cores.
    {"P100-SXM2-16GB", "p100", 16, 0.732, 10.6, 0, 21.2, 0, Socket::nvlink1, {"P100", "P100-16GB"}},
    // Tesla V100 whitepaper WP-08608, table 1, and V100 datasheet (March 2018).
    {"V100-SXM2-16GB", "v100", 16, 0.9, 15.7, 0, 125, 0, Socket::nvlink2, {"V100", "V100-16GB"}},
    {"V100-SXM2-32GB", "v100", 32, 0.9, 15.7, 0, 125, 0, Socket::nvlink2, {"V100-32GB"}},
    // DGX-2 datasheet: 16 GPUs, 512 GB, 2 PFLOP/s.
    {"V100-SXM3-32GB", "v100", 32, 0.9, 15.7, 0, 125, 0, Socket::nvlink2, {}},
    // A100 datasheet (June 2021).
    {"A100-SXM4-40GB", "a100", 40, 1.555, 19.5, 156, 312, 0, Socket::nvlink3, {"A100-40GB"}},
    {"A100-SXM4-80GB", "a100", 80, 2.039, 19.5, 156, 312, 0, Socket::nvlink3, {"A100", "A100-80GB"}},
    // H100 whitepaper v1.04, table 2.
    {"H100-SXM5-80GB", "h100", 80, 3.35, 66.9, 494.7, 989.4, 1978.9, Socket::nvlink4, {"H100", "H100-80GB"}},
    // H200 datasheet: H100's peaks, 141 GB, 4.8 TB/s.
    {"H200-SXM-141GB", "h200", 141, 4.8, 66.9, 494.7, 989.4, 1978.9, Socket::nvlink4, {"H200", "H200-141GB"}},
    // DGX B200 datasheet (1,440 GB, 64 TB/s) and HGX B200 (sparse 18/36/72 PFLOP/s, FP32 600 TFLOP/s), over 8 and over
    // 2 for dense.
    {"B200", "b200", 180, 8.0, 75, 1125, 2250, 4500, Socket::nvlink5, {"B200-180GB", "B200-SXM"}},
    // HGX B300 datasheet: 288 GB (268 GiB) and 8 TB/s a GPU; dense peaks of B200.
    {"B300", "b300", 268, 8.0, 75, 1125, 2250, 4500, Socket::nvlink5, {"B300-288GB"}},
    // GB200 NVL72 datasheet over 72: 13.4 TB, 576 TB/s, FP32 5,760 TFLOP/s, sparse 180/360/720 PFLOP/s.
    {"GB200", "gb200", 186, 8.0, 80, 1250, 2500, 5000, Socket::grace, {"GB200-186GB", "GB200-NVL72"}},
    // GB300 NVL72 datasheet over 72: 288 GB (268 GiB) a GPU, 576 TB/s, sparse 180/360/720 PFLOP/s.
    {"GB300", "gb300", 268, 8.0, 80, 1250, 2500, 5000, Socket::grace, {"GB300-288GB", "GB300-NVL72"}},
    // Jouppi et al., "TPU v4", ISCA 2023, table 4, a chip: 123 and 275 TFLOP/s in bf16, 32 GiB, 900 and 1,200 GB/s.
    {"TPU-v3", "tpu-v3", 32, 0.9, 0, 0, 123, 0, Socket::tpu_v3, {"TPUv3"}},
    {"TPU-v4", "tpu-v4", 32, 1.2, 0, 0, 275, 0, Socket::tpu_v4, {"TPUv4"}},
    // A core of an AMD EPYC 9755: 4.1 GHz boost (product page), two 512-bit fused multiply-adds a cycle (Software
    // Optimization Guide for family 1Ah), each of which adds twice as many products of bf16 (VDPBF16PS); no fp16. Its
    // share of bandwidth is the profile's; memory of a vCPU of AWS's m6a hosts.
    {"CPU-core", "cpu", 4, 0, 0.262, 0, 0.525, 0, Socket::core, {"CPU"}},
    // L40S datasheet: 48 GB GDDR6, 864 GB/s, PCIe Gen4.
    {"L40S", "l40s", 48, 0.864, 91.6, 183, 362, 733, Socket::pcie, {"L40S-48GB"}},
};

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

std::vector<Gpu> make_gpus() {
    std::vector<Gpu> result;
    for (const Row& r : rows) {
        result.push_back({r.name, r.profile, static_cast<std::uint64_t>(r.gibibytes) * GiB, r.terabytes_per_second * T,
                          r.fp32 * T, r.tf32 * T, r.half * T, r.fp8 * T,
                          r.tf32 > 0 || is_chip(r.socket) || r.socket == Socket::core,
                          r.half > 0 && r.socket != Socket::core});
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

const Gpu& find_gpu(std::string_view name) {
    const std::string wanted = lower(name);
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < std::size(rows); ++i) {
        if (answers_to(rows[i], wanted)) return gpus()[i];
        names.push_back(rows[i].name);
        for (std::string_view alias : rows[i].aliases) {
            if (!alias.empty()) names.push_back(alias);
        }
    }
    throw Error("", "/cluster/gpu", "unknown GPU \"" + std::string(name) + "\"",
                "nearest names: " + join(nearest(name, names)));
}

Socket socket_of(const Gpu& gpu) {
    const auto row = std::ranges::find_if(rows, [&](const Row& r) { return r.name == gpu.name; });
    if (row == std::end(rows)) throw Error("", "/cluster/gpu", "GPU \"" + gpu.name + "\" is not in the table");
    return row->socket;
}

std::string_view name(Socket socket) {
    constexpr std::string_view names[] = {"SXM with NVLink 1",
                                          "SXM with NVLink 2",
                                          "SXM with NVLink 3",
                                          "SXM with NVLink 4",
                                          "SXM with NVLink 5",
                                          "Grace superchip",
                                          "PCIe",
                                          "TPU v3 chip",
                                          "TPU v4 chip",
                                          "core of a host"};
    return names[static_cast<std::size_t>(socket)];
}

bool is_chip(Socket socket) { return socket == Socket::tpu_v3 || socket == Socket::tpu_v4; }

int compute_capability(Socket socket) {
    constexpr int by_socket[] = {60, 70, 80, 90, 100, 100, 89, 0, 0};  // CUDA C++ programming guide
    return by_socket[static_cast<std::size_t>(socket)];
}

std::string gpus_with(Socket socket) {
    std::string text;
    for (const Row& row : rows) {
        if (row.socket == socket) text += (text.empty() ? "" : ", ") + std::string(row.name);
    }
    return text;
}

}  // namespace orrery::topology
