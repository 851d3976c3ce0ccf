#include "topology/superpod.hpp"

namespace orrery::topology {

using namespace hardware;

std::span<const Design> superpod_designs() {
    static constexpr Design designs[] = {
        {.preset = {"superpod-a100", "DGX SuperPOD: DGX A100, units of 20 nodes, 8 rails of 200 Gb/s HDR InfiniBand",
                    "NVIDIA RA-09950-001 (DGX SuperPOD with DGX A100)", 140, 560},
         .node = "dgx-a100",
         .gpu = "",
         .nics = 0,
         .nic_bytes_per_second = 0,
         .planes = 0,
         .fabric_switch = switch_hdr,
         .adapter = infiniband_adapter,
         .leaves_per_group = 7,
         .reference = true},
        // 4 SU hold 128 nodes, of which one gives its place to the fabric manager.
        {.preset = {"superpod-h100", "DGX SuperPOD: DGX H100, units of 32 nodes, 8 rails of 400 Gb/s NDR InfiniBand",
                    "NVIDIA RA-11333-001 (DGX SuperPOD with DGX H100)", 127, 2048},
         .node = "dgx-h100",
         .gpu = "",
         .nics = 0,
         .nic_bytes_per_second = 0,
         .planes = 0,
         .fabric_switch = switch_ndr,
         .adapter = infiniband_adapter,
         .leaves_per_group = 32,
         .reference = true},
        // The same nodes with other GPUs.
        {.preset = {"superpod-h200", "DGX SuperPOD: DGX H200, units of 32 nodes, 8 rails of 400 Gb/s NDR InfiniBand",
                    "NVIDIA DGX SuperPOD reference architecture featuring DGX H200", 127, 2048},
         .node = "dgx-h100",
         .gpu = "H200",
         .nics = 0,
         .nic_bytes_per_second = 0,
         .planes = 0,
         .fabric_switch = switch_ndr,
         .adapter = infiniband_adapter,
         .leaves_per_group = 32,
         .reference = true},
        {.preset = {"superpod-b200", "DGX SuperPOD: DGX B200, units of 32 nodes, 8 rails of 400 Gb/s NDR InfiniBand",
                    "NVIDIA RA-11334-001 (DGX SuperPOD with DGX B200)", 127, 2048},
         .node = "hgx-b200",
         .gpu = "",
         .nics = 0,
         .nic_bytes_per_second = 0,
         .planes = 0,
         .fabric_switch = switch_ndr,
         .adapter = infiniband_adapter,
         .leaves_per_group = 32,
         .reference = true},
    };
    return designs;
}

}  // namespace orrery::topology
