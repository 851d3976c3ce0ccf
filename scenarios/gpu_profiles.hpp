// Which profile times which GPU of a cluster, as a scenario's "profile" says it.
#pragma once

#include <map>
#include <string>

#include "documents/reader.hpp"
#include "topology/cluster.hpp"

namespace orrery::scenarios {

/// A profile for each kind of GPU of the cluster, by the GPU's name: what "profile" names for it, else the GPU's own.
/// One text is for all GPUs, which must then be boards of one chip (GPUs with the same profile of their own): another
/// chip's times would be wrong without a sign of it. Throws Error for that, and for a GPU that the cluster lacks or
/// that is named twice.
std::map<std::string, std::string> gpu_profiles(const documents::Reader& top, const topology::Cluster& cluster);

}  // namespace orrery::scenarios
