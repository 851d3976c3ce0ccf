#include "sim/host_cores.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "hardware/datasheets.hpp"

namespace orrery::sim {

std::uint32_t ranks_on(const topology::Cluster& cluster, std::uint32_t node, const strategies::RankPlacement& placement,
                       std::uint32_t ranks) {
    std::uint32_t count = 0;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (cluster.node_of(placement.gpu(rank)) == node) ++count;
    return count;
}

HostCores::HostCores(const topology::Cluster& cluster, const calibrate::Predictor& predictor, topology::GpuId gpu,
                     const strategies::RankPlacement& placement, std::uint32_t ranks, hardware::Software software)
    : passes_(software == hardware::Software::orrery ? 1 : hardware::host_adam_passes) {
    if (cluster.gpu_of(gpu).socket == hardware::Socket::core) {
        rate_ = predictor.constant("memory_bytes_per_second");
        from_ = "the core's memory";
        return;
    }
    const std::uint32_t node = cluster.node_of(gpu), sharing = ranks_on(cluster, node, placement, ranks);
    const double memory = cluster.plan_of(node).host_memory().bytes_per_second;
    rate_ = memory * hardware::host_adam_share / sharing;
    from_ = fmt::format("{:.0f}% of the host's memory of {:.0f} GB/s{}", 100 * hardware::host_adam_share, memory / 1e9,
                        sharing > 1 ? fmt::format(" for {} GPUs", sharing) : "");
}

double HostCores::seconds(const kernels::Kernel& kernel) const {
    if (rate_ == 0)
        throw Error("", "/strategy/optimizer_cpu_offload", "the memory of the cluster's hosts is not known",
                    "set it to false, or name another cluster");
    return kernels::bytes(kernel) * passes_ / rate_;
}

std::string HostCores::origin() const {
    return fmt::format("the host's cores update at {:.1f} GB/s a GPU, {}", rate_ / 1e9, from_);
}

}  // namespace orrery::sim
