// AMD's Instinct accelerators, oldest generation first.
#include "hardware/gpu_rows.hpp"

namespace orrery::hardware {

namespace {

/// Data sheet of the MI300X: 5.3 TB/s, 304 compute units, 1,307.4 TFLOP/s in 16 bits; 196,592 MiB by its driver.
constexpr GpuRow mi300x{"MI300X",
                        "mi300x",
                        "AMD Instinct MI300X data sheet",
                        191,
                        5300,
                        163.4,
                        653.7,
                        1307.4,
                        2614.9,
                        Socket::oam_mi300,
                        304,
                        0,
                        Host::epyc_9654,
                        {"MI300X-192GB"}};

/// The same chips, held to 1,000 W for 750, beside 256 GB of HBM3E.
constexpr GpuRow mi325x() {
    GpuRow board = with_memory(mi300x, 255, 6000, "MI325X", "AMD Instinct MI325X data sheet", {"MI325X-256GB"});
    board.profile = "mi325x";
    return board;
}

constexpr GpuRow rows[] = {
    // One of its two dies, which software sees as a GPU each: half of 383 TFLOP/s in 16 bits, of 3,276.8 GB/s and of
    // 128 GB. No tf32; fp32 by matrix cores, of which PyTorch's products are, 95.7.
    {"MI250X",
     "mi250x",
     "AMD Instinct MI250X data sheet, a die",
     64,
     1638.4,
     47.85,
     0,
     191.5,
     0,
     Socket::oam_mi250,
     110,
     0,
     Host::epyc_7a53,
     {"MI250X-GCD", "MI250X-64GB"}},
    mi300x,
    mi325x(),
    // Data sheet of the MI355X: 288 GB, 8 TB/s, 256 compute units; no TF32; peaks in 16 and 8 bits without sparsity.
    {"MI355X",
     "mi355x",
     "AMD Instinct MI355X data sheet",
     287,
     8000,
     157.3,
     0,
     2516.6,
     5033.2,
     Socket::oam_mi350,
     256,
     0,
     Host::epyc_9575f,
     {"MI355X-288GB"}},
};

}  // namespace

std::span<const GpuRow> amd_gpus() { return rows; }

}  // namespace orrery::hardware
