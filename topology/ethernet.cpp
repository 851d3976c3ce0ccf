#include "topology/ethernet.hpp"

namespace orrery::topology {

using namespace hardware;

std::optional<NodeNics> amazon_nics(Socket socket) {
    switch (socket) {
        case Socket::nvlink2: return NodeNics{1, gigabits(100)};
        case Socket::nvlink3: return NodeNics{4, gigabits(100)};
        case Socket::nvlink4:
        case Socket::nvlink5: return NodeNics{8, gigabits(400)};
        case Socket::grace: return NodeNics{18, 4 * gigabits(400)};
        default: return std::nullopt;
    }
}

namespace {

/// Nodes with GPUs and NICs of their own kind.
constexpr Design on_top_of_rack(const Preset& preset, std::string_view node) {
    return {.preset = preset,
            .node = node,
            .gpu = "",
            .nics = 0,
            .nic_bytes_per_second = 0,
            .planes = 1,
            .fabric_switch = switch_tor,
            .adapter = roce_adapter};
}

}  // namespace

std::span<const Design> ethernet_designs() {
    static constexpr Design designs[] = {
        // Defaults as Amazon's p3dn.24xlarge: 8 V100 and one NIC of 100 Gb/s.
        {.preset = {"ethernet", "nodes of any GPU with one or more NICs on top-of-rack Ethernet switches",
                    "AWS p3dn.24xlarge for the defaults", 4, 16384},
         .node = "dgx-1v",
         .gpu = "",
         .nics = 1,
         .nic_bytes_per_second = gigabits(100),
         .planes = 1,
         .fabric_switch = switch_tor,
         .adapter = roce_adapter,
         .any_node = true},
        {.preset = {"efa", "nodes of any GPU with NICs of Amazon's Elastic Fabric Adapter",
                    "AWS p3dn, p4d, p5, p6-b200 and p6e-gb200 by the GPU", 4, 16384},
         .node = "dgx-a100",
         .gpu = "",
         .nics = 4,
         .nic_bytes_per_second = gigabits(100),
         .planes = 1,
         .fabric_switch = switch_tor,
         .adapter = efa_adapter,
         .any_node = true,
         .nics_of = amazon_nics},
        // No latency of an adapter for plain Ethernet is published by itself; taken to be that of RoCE.
        {.preset = {"cpu-hosts", "hosts without GPUs, a core a device, 1 Gb/s Ethernet: what `orrery run` runs on",
                    "AMD EPYC 7763 for the defaults", 1, 64},
         .node = "cpu-host",
         .gpu = "",
         .nics = 1,
         .nic_bytes_per_second = 0,
         .planes = 1,
         .fabric_switch = switch_tor,
         .adapter = roce_adapter},
        on_top_of_rack(
            {"pcie-l40s", "8 L40S on PCIe without NVLink, 4 NICs of 200 Gb/s on top-of-rack Ethernet switches",
             "NVIDIA OVX L40S server", 4, 4096},
            "pcie-8"),
        on_top_of_rack({"pcie-rtx-pro-6000",
                        "8 RTX PRO 6000 (server edition) on PCIe without NVLink, 4 NICs of 400 Gb/s on top-of-rack "
                        "Ethernet switches",
                        "NVIDIA Enterprise Reference Architecture 2-8-5-200", 4, 4096},
                       "pcie5-8"),
    };
    return designs;
}

}  // namespace orrery::topology
