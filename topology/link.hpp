// The parts of a cluster: devices and the directed links between them.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::topology {

using GpuId = std::uint32_t;
using LinkId = std::uint32_t;

enum class VertexKind : std::uint8_t { gpu, nvswitch, pcie_switch, cpu, nic, leaf, spine, core, router };
std::string_view name(VertexKind kind);

enum class LinkKind : std::uint8_t {
    nvlink,  ///< GPU to GPU or GPU to NVSwitch
    xgmi,    ///< GPU to GPU of AMD's
    pcie,    ///< GPU or NIC to PCIe switch or CPU
    nic,     ///< NIC to leaf switch (or to the only switch, or to a router)
    fabric,  ///< switch to switch, or chip to chip
};
std::string_view name(LinkKind kind);
/// Made to join GPUs, and quicker than their way through the host.
constexpr bool joins_gpus(LinkKind kind) { return kind == LinkKind::nvlink || kind == LinkKind::xgmi; }

struct Link {
    LinkKind kind = LinkKind::nvlink;
    double bytes_per_second = 0;  ///< one direction, all parallel cables together
    double latency_seconds = 0;
    std::uint32_t cables = 1;
    std::uint32_t tier = 0;  ///< 0 inside the node, 1 NIC to switch, 2 and above between switches (2 leaf-spine, 3 ...)
};

}  // namespace orrery::topology
