// NCCL's description of one node: what NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads (NCCL 2.x,
// src/graph/xml.cc).
//
//   <system>
//     <cpu numaid="0">                                            a socket
//       <pci busid=".." class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">   a PCIe switch
//         <pci class="0x030200" ..><gpu dev="0" sm="80"><nvlink target=".." count="12" tclass="0x068000"/></gpu></pci>
//         <pci class="0x020000" ..><nic><net dev="0" speed="200000"/></nic></pci>       Mb/s
//
// RCCL writes the same, of AMD's GPUs: <gpu dev="0" gcn="gfx942"><xgmi target=".." count="1"/></gpu>.
//
// Read: cpu, pci, gpu, nvlink, xgmi, nic, net with the attributes above; others are skipped. A PCIe link whose speed or
// width the system did not know ("", "Unknown speed", width 0: virtual machines) is taken for generation 3 x16, as NCCL
// does (src/graph/topo.cc). A nic below a cpu, without a pci, hangs on the socket by its own rate. NVLinks run at the
// datasheet's rate of the GPU's generation (sm), xGMI links at that of its architecture (gcn), PCIe at link_speed x
// link_width less line coding, sockets are joined pairwise.
#pragma once

#include <string>

#include "topology/node.hpp"

namespace orrery::topology {

struct NcclNode {
    NodePlan plan;
    double nic_bytes_per_second = 0;  ///< of the slowest
};

/// GPUs in order of dev, NICs in order of dev. Throws Error with the file, the line or element, and how to mend it.
NcclNode read_nccl_xml(const std::string& file);
/// The same from text; `file` is for messages.
NcclNode parse_nccl_xml(const std::string& text, const std::string& file);

/// A node in this format; reading it gives a node with the same links, but that all NVSwitches are one. sm: compute
/// capability of its GPUs, 80 for 8.0.
std::string to_nccl_xml(const NodePlan& node, double nic_bytes_per_second, int sm);

}  // namespace orrery::topology
