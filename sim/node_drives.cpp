#include "sim/node_drives.hpp"

#include <fmt/format.h>

#include "hardware/operations.hpp"
#include "sim/host_cores.hpp"

namespace orrery::sim {

NodeDrives::NodeDrives(const topology::Cluster& cluster, topology::GpuId gpu, const strategies::Plan& plan,
                       std::uint32_t ranks)
    : read_(plan.drives.read > 0 ? plan.drives.read : hardware::nvme_read),
      write_(plan.drives.write > 0 ? plan.drives.write : hardware::nvme_write),
      stated_(plan.drives.read > 0 && plan.drives.write > 0),
      sharing_(ranks_on(cluster, cluster.node_of(gpu), plan.placement, ranks)) {
    read_ /= sharing_;
    write_ /= sharing_;
}

double NodeDrives::seconds(const strategies::Copy& copy) const {
    const bool reads = copy.to == strategies::Copy::To::host_from_storage;
    return static_cast<double>(copy.bytes) / (reads ? read_ : write_);
}

std::string NodeDrives::origin() const {
    return fmt::format("the node's drives read at {:.2f} and write at {:.2f} GB/s a GPU, {}", read_ / 1e9, write_ / 1e9,
                       stated_ ? "as storage says"
                               : "four drives of a DGX A100 where storage.nvme_read_rate and nvme_write_rate say "
                                 "nothing else");
}

}  // namespace orrery::sim
