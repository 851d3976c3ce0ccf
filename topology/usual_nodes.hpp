// The vendor's usual nodes of a GPU, for who names that and no cluster.
#pragma once

#include <string_view>

namespace orrery::topology {

/// Name of a preset of the catalog; empty where none is known. gpu: as hardware::find takes it.
std::string_view usual_nodes(std::string_view gpu);

}  // namespace orrery::topology
