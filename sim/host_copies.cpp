#include "sim/host_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "hardware/datasheets.hpp"

namespace orrery::sim {

namespace {

/// Which GPUs of a node run ranks, by their number in it.
std::vector<bool> running(const topology::Cluster& cluster, std::uint32_t node,
                          const strategies::RankPlacement& placement, std::uint32_t ranks) {
    std::vector<bool> runs(cluster.gpus_per_node());
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
        if (const topology::GpuId gpu = placement.gpu(rank); cluster.node_of(gpu) == node)
            runs[gpu % cluster.gpus_per_node()] = true;
    return runs;
}

/// Running GPUs of a node whose way to the host takes a link.
std::uint32_t users(const topology::NodePlan& plan, const std::vector<bool>& runs, std::uint32_t link) {
    std::uint32_t count = 0;
    for (std::uint32_t gpu = 0; gpu < plan.gpus(); ++gpu)
        if (runs[gpu] && std::ranges::count(plan.gpu_to_host(gpu), link) > 0) ++count;
    return count;
}

/// Of a chip with its router on it; 0 for others.
double chip_rate(const topology::Cluster& cluster) { return cluster.fabric().parts().host_bytes_per_second; }

/// What a copy gets of a link, in words.
std::string share_of_link(double line) {
    return fmt::format("{:.0f}% of a link of {:.1f} GB/s", 100 * hardware::host_copy_share(line), line / 1e9);
}

}  // namespace

bool has_host(const topology::Cluster& cluster, topology::GpuId gpu) {
    if (cluster.gpu_of(gpu).socket == hardware::Socket::core) return true;
    return !cluster.plan_of(cluster.node_of(gpu)).gpu_to_host(gpu % cluster.gpus_per_node()).empty();
}

void require_host(const strategies::Plan& plan, const topology::Cluster& cluster, topology::GpuId gpu) {
    if (has_host(cluster, gpu)) return;
    const auto refuse = [&](const char* key, const char* remedy) {
        throw Error("", std::string("/strategy/") + key,
                    fmt::format("{} is copied to hosts, and {} has none here", key, cluster.gpu_of(gpu).name),
                    fmt::format("{}, or name another cluster", remedy));
    };
    if (plan.offloads_weights()) refuse("offload_param_device", "set it to \"none\"");
    if (plan.strategy.optimizer_cpu_offload) refuse("optimizer_cpu_offload", "set it to false");
    if (chip_rate(cluster) == 0) refuse("cpu_offloading_num_layers", "set it to 0");
}

HostCopies::HostCopies(const topology::Cluster& cluster, const calibrate::Predictor& predictor, topology::GpuId gpu,
                       const strategies::RankPlacement& placement, std::uint32_t ranks)
    : predictor_(predictor) {
    if (cluster.gpu_of(gpu).socket == hardware::Socket::core) {
        rate_ = predictor.constant("memory_bytes_per_second") / 2;
        takes_cores_ = true;
        from_ = "half of the rate at which it reads and writes memory";
        return;
    }
    if (const double line = chip_rate(cluster); line > 0) {
        rate_ = line * hardware::host_copy_share(line);
        from_ = share_of_link(line);
        return;
    }
    const std::uint32_t node = cluster.node_of(gpu);
    const topology::NodePlan& plan = cluster.plan_of(node);
    if (!has_host(cluster, gpu)) return;
    const topology::NodePlan::Path& path = plan.gpu_to_host(gpu % cluster.gpus_per_node());
    const std::vector<bool> runs = running(cluster, node, placement, ranks);
    rate_ = std::numeric_limits<double>::infinity();
    for (const std::uint32_t number : path) {
        const topology::Link& link = plan.links()[number].link;
        const std::uint32_t sharing = users(plan, runs, number);
        const double line = link.bytes_per_second, share = line * hardware::host_copy_share(line) / sharing;
        latency_ += link.latency_seconds;
        if (share >= rate_) continue;
        rate_ = share;
        shared_ = sharing > 1;
        from_ = share_of_link(line) + (shared_ ? fmt::format(" that {} GPUs share", sharing) : "");
    }
    const double memory = plan.host_memory().bytes_per_second;
    const auto all = static_cast<std::uint32_t>(std::ranges::count(runs, true));
    if (memory > 0 && memory / all < rate_) {
        rate_ = memory / all;
        shared_ = all > 1;
        from_ = fmt::format("the host's memory of {:.0f} GB/s for {} GPUs", memory / 1e9, all);
    }
}

double HostCopies::seconds(kernels::CopyKind kind, double bytes) const {
    if (rate_ == 0) throw Error("the cluster's nodes have no host to copy to", "name another cluster");
    const auto measured = predictor_.copy(kind, bytes);
    if (!measured) return latency_ + bytes / rate_;
    return shared_ ? std::max(measured->seconds, bytes / rate_) : measured->seconds;
}

std::string HostCopies::origin() const {
    const bool table = predictor_.copy(kernels::CopyKind::device_to_host, 1).has_value();
    if (table && !shared_) return "";
    return fmt::format("copies to and from the host {} {:.1f} GB/s a GPU, {}",
                       table ? "take no more than" : "are not in the profile and derived:", rate_ / 1e9, from_);
}

}  // namespace orrery::sim
