// Nodes: how GPUs, NVSwitches, PCIe switches, CPUs and NICs of one server (or one NVL72 rack) are wired.
//
//   DGX-1V, hybrid cube mesh          DGX-2, two boards            DGX A100, H100, HGX, NVL72
//     GPU0 ==== GPU3                   GPU0..7    GPU8..15           GPU0  GPU1 ... GPU7
//      | \\    / |                      \\|//      \\|//               \\    ||     //
//      |   GPU1  |   and the same      NVSwitches==NVSwitches           NVSwitches
//      |    |    |   square 4..7,       (6 chips)   (6 chips)
//     GPU2 ==== ...  linked i - i+4
//
//   four MI250X, two dies a module: 0 = 1, 2 = 3, 4 = 5, 6 = 7 by four links each, two links between 0 - 6 and 2 - 4,
//   and one between each of 0 - 2, 1 - 3, 1 - 5, 3 - 7, 4 - 6, 5 - 7
//
//   every node:  GPU --+                  +-- GPU
//                GPU --+-- PCIe -- CPU == CPU -- PCIe --+-- GPU
//                NIC --+                  +-- NIC
//
// The chips of one NVSwitch board act as one plane, since every GPU has links to every chip and spreads its traffic
// evenly: they are one vertex whose links carry all the cables.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/gpu.hpp"
#include "topology/node.hpp"

namespace orrery::topology {

using hardware::Socket;

enum class Wiring : std::uint8_t { cube_mesh, all_to_all, die_pairs, nvswitch, two_boards, pcie_only };

/// One kind of node: a row of the table in dgx.cpp.
struct NodeSpec {
    std::string_view name, gpu;
    Socket socket;
    Wiring wiring;
    std::uint32_t gpus;
    std::uint32_t nvlinks;  ///< or xGMI links, a GPU
    double nvlink_bytes_per_second;
    std::uint32_t cpus, pcie_switches;  ///< pcie_switches 0: GPUs and NICs sit on the CPUs
    double gpu_host_bytes_per_second, nic_host_bytes_per_second;
    std::uint32_t nics;
    double nic_bytes_per_second;
    HostMemory host_memory = {};  ///< of all CPUs together
};

const NodeSpec& find_node(std::string_view name);

/// The node that GPUs of this socket are commonly built into, for fabrics that take any node.
const NodeSpec& usual_node(Socket socket);

/// gpus 1 .. spec.gpus, of which NICs 1 .. gpus; both checked by the caller (design.cpp).
NodePlan build_node(const NodeSpec& spec, std::uint32_t gpus, std::uint32_t nics);

}  // namespace orrery::topology
