// Collectives among the GPUs of a node without NVLink, where none were measured: NCCL's rings as its own cost model has
// them (hardware/nccl.hpp), on two sockets of Sapphire Rapids with two PCIe switches each and two GPUs of PCIe Gen4 on
// a switch.
#pragma once

#include <string>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// all_reduce, all_gather and reduce_scatter among 2, 4 and 8 ranks, of 1 KiB to 1 GiB.
std::vector<CollectiveTable> pcie_collectives(const std::string& device);

}  // namespace orrery::calibrate
