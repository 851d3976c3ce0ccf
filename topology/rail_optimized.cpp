#include "topology/rail_optimized.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

/// A node with its own GPU and NICs.
constexpr Design rails(const Preset& preset, std::string_view node, std::string_view gpu, const Switch& fabric_switch,
                       const Adapter& adapter, std::uint32_t planes = 0) {
    return {.preset = preset,
            .node = node,
            .gpu = gpu,
            .nics = 0,
            .nic_bytes_per_second = 0,
            .planes = planes,
            .fabric_switch = fabric_switch,
            .adapter = adapter};
}

}  // namespace

std::span<const Design> rail_optimized_designs() {
    static constexpr Design designs[] = {
        rails({"dgx-1v", "8 V100 in a hybrid cube mesh, 4 rails of 100 Gb/s InfiniBand", "WP-08437 (DGX-1)", 16, 2916},
              "dgx-1v", "", switch_edr, infiniband_adapter),
        rails({"dgx-2", "16 V100 on NVSwitch, 8 rails of 100 Gb/s InfiniBand", "DGX-2 user guide", 16, 1296}, "dgx-2",
              "", switch_edr, infiniband_adapter),
        rails({"dgx-a100", "8 A100 on NVSwitch, 8 rails of 200 Gb/s InfiniBand", "DGX A100 user guide", 20, 2000},
              "dgx-a100", "", switch_hdr, infiniband_adapter),
        rails({"dgx-h100", "8 H100 on NVSwitch, 8 rails of 400 Gb/s InfiniBand", "DGX H100 user guide", 32, 8192},
              "dgx-h100", "", switch_ndr, infiniband_adapter),
        rails({"dgx-h200", "8 H200 on NVSwitch, 8 rails of 400 Gb/s InfiniBand", "DGX H200 user guide", 32, 8192},
              "dgx-h100", "H200", switch_ndr, infiniband_adapter),
        rails({"hgx-h100", "8 H100 on NVSwitch, 8 rails of 400 Gb/s RoCE", "HGX H100/H200/B200 enterprise reference",
               32, 16384},
              "dgx-h100", "", switch_spectrum4, roce_adapter),
        rails({"hgx-h200", "8 H200 on NVSwitch, 8 rails of 400 Gb/s RoCE", "HGX H100/H200/B200 enterprise reference",
               32, 16384},
              "dgx-h100", "H200", switch_spectrum4, roce_adapter),
        rails({"hgx-b200", "8 B200 on NVSwitch, 8 rails of 400 Gb/s RoCE", "HGX H100/H200/B200 enterprise reference",
               32, 16384},
              "hgx-b200", "", switch_spectrum4, roce_adapter),
        rails({"gb200-nvl72", "racks of 72 GB200 in one NVLink domain, 4 rails of 18 x 400 Gb/s InfiniBand",
               "DGX SuperPOD GB200 reference architecture", 8, 512},
              "gb200-nvl72", "", switch_ndr, infiniband_adapter, 4),
        rails({"gb300-nvl72", "racks of 72 GB300 in one NVLink domain, 4 rails of 18 x 800 Gb/s InfiniBand",
               "DGX SuperPOD GB300 reference architecture", 8, 512},
              "gb300-nvl72", "", switch_xdr, infiniband_adapter, 4),
        rails({"hgx-a100-4", "4 A100 joined pairwise, 4 rails of 200 Gb/s InfiniBand", "JUWELS Booster", 16, 4000},
              "hgx-a100-4", "", switch_hdr, infiniband_adapter),
        rails({"hgx-h100-4", "4 H100 joined pairwise, 4 rails of 400 Gb/s InfiniBand", "Lenovo SD665-N V3", 16, 16384},
              "hgx-h100-4", "", switch_ndr, infiniband_adapter),
        rails({"hgx-h200-4", "4 H200 joined pairwise, 4 rails of 400 Gb/s InfiniBand", "Lenovo SD665-N V3", 16, 16384},
              "hgx-h100-4", "H200", switch_ndr, infiniband_adapter),
        rails({"gh200-4", "4 GH200 joined pairwise, 4 rails of 200 Gb/s InfiniBand", "JUPITER Booster", 16, 16384},
              "gh200-4", "", switch_ndr, infiniband_adapter),
        // Its dragonfly is taken for a tree with full bisection; `fabric` states one.
        rails({"frontier", "8 dies of 4 MI250X, 4 rails of 200 Gb/s Slingshot", "Frontier User Guide (OLCF)", 16, 9408},
              "mi250x-8", "", switch_rosetta, slingshot_adapter),
        rails(
            {"mi300x", "8 MI300X joined pairwise, 8 rails of 400 Gb/s RoCE", "AMD Instinct MI300X platform", 32, 16384},
            "mi300x-8", "", switch_spectrum4, roce_adapter),
        rails(
            {"mi325x", "8 MI325X joined pairwise, 8 rails of 400 Gb/s RoCE", "AMD Instinct MI325X platform", 32, 16384},
            "mi300x-8", "MI325X", switch_spectrum4, roce_adapter),
        rails(
            {"mi355x", "8 MI355X joined pairwise, 8 rails of 400 Gb/s RoCE", "AMD Instinct MI355X platform", 32, 16384},
            "mi355x-8", "", switch_spectrum4, roce_adapter),
        rails({"v100-4", "4 V100 joined pairwise, 4 rails of 100 Gb/s Omni-Path", "Jean Zay (IDRIS)", 16, 6912},
              "v100-4", "", switch_opa, omni_path_adapter),
    };
    return designs;
}

}  // namespace orrery::topology
