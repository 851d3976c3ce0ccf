// Collectives inside nodes of which no readings are published: what the library's own cost model makes of its rings.
#pragma once

#include <string>
#include <vector>

#include "calibrate/profile.hpp"

namespace orrery::calibrate {

/// all_reduce, all_gather and reduce_scatter of 2, 4 and 8 ranks by NCCL's LL and Simple rings among boards on PCIe
/// Gen4, four to a socket, two to a switch (src/graph/tuning.cc, topo.h). An estimate.
std::vector<CollectiveTable> pcie_collectives(const std::string& device);

/// The same by RCCL's rings among the eight dies of a node with four MI250X (src/graph/rome_models.cc, rome_model_52,
/// tuning.cc, topo.h). An estimate.
std::vector<CollectiveTable> mi250x_collectives(const std::string& device);

}  // namespace orrery::calibrate
