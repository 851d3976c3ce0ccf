// Kernels that the cores of a host run on its memory.
#pragma once

#include <string>

#include "calibrate/predictor.hpp"
#include "hardware/host_time.hpp"
#include "kernels/kernel.hpp"
#include "strategies/rank_placement.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Time of an optimizer's update in host memory: the bytes that it moves over hardware::host_adam_share of the
/// memory's rate, which ranks of a node share, since they update at the same time. A CPU's device has its own core and
/// memory. Where the update is PyTorch's it moves more (hardware::host_adam_passes). Not modelled: copies on the same
/// memory meanwhile, processors with too few cores to fill it.
class HostCores {
public:
    /// Of the GPU of one rank, of so many on GPUs of their own. software: whose update it is.
    HostCores(const topology::Cluster& cluster, const calibrate::Predictor& predictor, topology::GpuId gpu,
              const strategies::RankPlacement& placement, std::uint32_t ranks,
              hardware::Software software = hardware::Software::orrery);

    /// Throws Error (pointer "/strategy/optimizer_cpu_offload") where the rate of the host's memory is not known.
    [[nodiscard]] double seconds(const kernels::Kernel& kernel) const;
    /// "the host's cores update at ...".
    [[nodiscard]] std::string origin() const;

private:
    double rate_ = 0;  ///< bytes per second of one rank; 0: not known
    double passes_ = 1;
    std::string from_;
};

/// Ranks that run on a node.
std::uint32_t ranks_on(const topology::Cluster& cluster, std::uint32_t node, const strategies::RankPlacement& placement,
                       std::uint32_t ranks);

}  // namespace orrery::sim
