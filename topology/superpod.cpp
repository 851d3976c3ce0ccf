#include "topology/superpod.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

/// Scalable units of nodes with a rail for each NIC, as the reference architectures have them.
constexpr Design units(const Preset& preset, std::string_view node, std::string_view gpu, const Switch& fabric_switch,
                       std::uint32_t leaves_per_group) {
    return {.preset = preset,
            .node = node,
            .gpu = gpu,
            .nics = 0,
            .nic_bytes_per_second = 0,
            .planes = 0,
            .fabric_switch = fabric_switch,
            .adapter = infiniband_adapter,
            .leaves_per_group = leaves_per_group,
            .reference = true};
}

}  // namespace

std::span<const Design> superpod_designs() {
    // 4 units of 32 hold 128 nodes, of which one gives its place to the fabric manager.
    static constexpr Design designs[] = {
        units({"superpod-a100", "DGX SuperPOD: DGX A100, units of 20 nodes, 8 rails of 200 Gb/s HDR InfiniBand",
               "NVIDIA RA-09950-001 (DGX SuperPOD with DGX A100)", 140, 560},
              "dgx-a100", "", switch_hdr, 7),
        units({"superpod-h100", "DGX SuperPOD: DGX H100, units of 32 nodes, 8 rails of 400 Gb/s NDR InfiniBand",
               "NVIDIA RA-11333-001 (DGX SuperPOD with DGX H100)", 127, 2048},
              "dgx-h100", "", switch_ndr, 32),
        units({"superpod-h200", "DGX SuperPOD: DGX H200, units of 32 nodes, 8 rails of 400 Gb/s NDR InfiniBand",
               "NVIDIA DGX SuperPOD reference architecture featuring DGX H200", 127, 2048},
              "dgx-h100", "H200", switch_ndr, 32),
        units({"superpod-b200", "DGX SuperPOD: DGX B200, units of 32 nodes, 8 rails of 400 Gb/s NDR InfiniBand",
               "NVIDIA RA-11334-001 (DGX SuperPOD with DGX B200)", 127, 2048},
              "hgx-b200", "", switch_ndr, 32),
    };
    return designs;
}

}  // namespace orrery::topology
