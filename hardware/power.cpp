#include "hardware/power.hpp"

#include <algorithm>

namespace orrery::hardware {

namespace {

struct Row {
    std::string_view gpu;
    double watts, node_watts, node_gpus;
    std::string_view origin;  ///< of both
    double idle_watts = 0;
};

/// An H200, by nvidia-smi in 31 sites of RunPod (ConserveMode, H200 GPU Idle State Validation); taken for an H100's
/// too, which has the same chip.
constexpr double hopper_idle = 73.65;

constexpr Row rows[] = {
    {"P100-SXM2-16GB", 300, 3200, 8, "Tesla P100 datasheet; DGX-1 datasheet (P100)"},
    {"V100-SXM2-16GB", 300, 3500, 8, "V100 datasheet; DGX-1 datasheet (V100)"},
    {"V100-SXM2-32GB", 300, 3500, 8, "V100 datasheet; DGX-1 datasheet (V100)"},
    {"V100-SXM3-32GB", 350, 10000, 16, "DGX-2 user guide; DGX-2 datasheet"},
    {"A100-SXM4-40GB", 400, 6500, 8, "A100 datasheet; DGX A100 datasheet"},
    {"A100-SXM4-80GB", 400, 6500, 8, "A100 datasheet; DGX A100 datasheet"},
    {"A800-SXM4-80GB", 400, 6500, 8, "A100 datasheet; DGX A100 datasheet"},
    {"H100-SXM5-80GB", 700, 10200, 8, "H100 datasheet; DGX H100 datasheet", hopper_idle},
    {"H100-SXM5-96GB", 700, 10200, 8, "arXiv:2604.11391; DGX H100 datasheet", hopper_idle},
    {"H800-SXM5-80GB", 700, 10200, 8, "H100 datasheet; DGX H100 datasheet", hopper_idle},
    {"H20-SXM-96GB", 400, 0, 1, "H20 datasheet"},
    {"H200-SXM-141GB", 700, 10200, 8, "H200 datasheet; DGX H200 datasheet", hopper_idle},
    {"GH200-96GB", 680, 0, 1, "JUPITER Booster's configuration: a superchip, its Grace and memory too"},
    {"B200", 1000, 14300, 8, "HGX B200 datasheet; DGX B200 datasheet"},
    {"GB200", 1200, 120000, 72, "GB200 NVL72 datasheet; its rack's user guide"},
    {"MI250X", 280, 0, 1, "AMD Instinct MI250X data sheet: half of 560 W"},
    {"MI300X", 750, 0, 1, "AMD Instinct MI300X data sheet"},
    {"MI325X", 1000, 0, 1, "AMD Instinct MI325X data sheet"},
    {"MI355X", 1400, 0, 1, "AMD Instinct MI355X data sheet"},
    {"L40S", 350, 0, 1, "L40S datasheet"},
    {"RTX-PRO-6000", 600, 0, 1, "as its driver tells (AIConfigurator, systems/rtx_pro_6000_server.yaml)"},
    {"TPU-v3", 450, 0, 1, "Patterson et al., arXiv 2104.10350, table 4"},
    {"TPU-v4", 192, 0, 1, "Jouppi et al., TPU v4, ISCA 2023, table 4, maximum of a chip"},
    {"CPU-core", 500.0 / 128, 0, 1, "AMD EPYC 9755 product page: 500 W, 128 cores"},
};

}  // namespace

Power power_of(std::string_view gpu) {
    const auto* const row = std::ranges::find(rows, gpu, &Row::gpu);
    if (row == std::end(rows)) return {};
    return {row->watts, row->node_watts / row->node_gpus, row->idle_watts};
}

Power power_of(std::string_view gpu, double limit_watts) {
    Power power = power_of(gpu);
    const double saved = limit_watts > 0 ? std::max(0.0, power.gpu - limit_watts) : 0;
    power.gpu -= saved;
    if (power.node > 0) power.node -= saved;
    return power;
}

}  // namespace orrery::hardware
