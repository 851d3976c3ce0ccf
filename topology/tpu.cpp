#include "topology/tpu.hpp"

#include <algorithm>

namespace orrery::topology {

using namespace hardware;

namespace {

/// Chips of a host: How to Scale Your Model, part 2 (host size).
constexpr Design torus(const Preset& preset, std::string_view chip, std::string_view shape, std::uint32_t dimensions,
                       double link, std::uint32_t chips_per_host, double host = tpu_pcie_bytes_per_second) {
    return {.preset = preset,
            .node = "",
            .gpu = chip,
            .nics = 1,
            .nic_bytes_per_second = link,
            .planes = 1,
            .fabric_switch = router_tpu,
            .adapter = chip_adapter,
            .fabric = "torus",
            .shape = shape,
            .dimensions = dimensions,
            .chips_per_host = chips_per_host,
            .host_bytes_per_second = host};
}

}  // namespace

std::span<const Design> tpu_designs() {
    static constexpr Design designs[] = {
        torus({"tpu-v3", "TPU v3 chips in a 2-D torus, 4 links of 70 GB/s", "Jouppi et al., ISCA 2023, table 4", 1024,
               1024},
              "TPU-v3", "32x32", 2, tpu_v3_link_bytes_per_second, 4),
        torus({"tpu-v4", "TPU v4 chips in a 3-D torus of optically joined 4x4x4 cubes, 6 links of 50 GB/s",
               "Jouppi et al., ISCA 2023, table 4", 4096, 4096},
              "TPU-v4", "16x16x16", 3, tpu_v4_link_bytes_per_second, 4),
        torus({"tpu-v5e", "TPU v5e chips in a 2-D torus, 4 links of 50 GB/s", "Google Cloud documentation, TPU v5e",
               256, 256},
              "TPU-v5e", "16x16", 2, tpu_v5e_link_bytes_per_second, 8),
        torus({"tpu-v5p", "TPU v5p chips in a 3-D torus, 6 links of 100 GB/s", "Google Cloud documentation, TPU v5p",
               8960, 8960},
              "TPU-v5p", "16x20x28", 3, tpu_v5p_link_bytes_per_second, 4),
        torus({"tpu-v6e", "TPU v6e (Trillium) chips in a 2-D torus, 4 links of 100 GB/s",
               "Google Cloud documentation, TPU v6e", 256, 256},
              "TPU-v6e", "16x16", 2, tpu_v6e_link_bytes_per_second, 8, tpu_v6e_pcie_bytes_per_second),
        torus({"tpu7x", "TPU7x (Ironwood) chips in a 3-D torus, 6 links of 100 GB/s",
               "Google Cloud documentation, TPU7x", 9216, 9216},
              "TPU7x", "16x16x36", 3, tpu7x_link_bytes_per_second, 4, tpu_v6e_pcie_bytes_per_second),
    };
    return designs;
}

std::uint32_t torus_dimensions(std::string_view chip) {
    const auto found = std::ranges::find(tpu_designs(), chip, &Design::gpu);
    return found == tpu_designs().end() ? 0 : found->dimensions;
}

}  // namespace orrery::topology
