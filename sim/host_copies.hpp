// Copies between a GPU and the memory of its host.
#pragma once

#include <string>

#include "calibrate/predictor.hpp"
#include "kernels/device.hpp"
#include "strategies/plan.hpp"
#include "topology/cluster.hpp"

namespace orrery::sim {

/// Whether a GPU has a host that keeps its weights or runs its optimizer: those of chips take activations alone.
bool has_host(const topology::Cluster& cluster, topology::GpuId gpu);

/// Throws Error with the key of what a plan copies to hosts, where a GPU has none for it.
void require_host(const strategies::Plan& plan, const topology::Cluster& cluster, topology::GpuId gpu);

/// Time of a copy as the profile measured it; without a table, from the datasheet's rate of the narrowest link to the
/// nearest CPU (hardware::host_copy_share of it). Ranks of a node run the same program and so copy at the same time:
/// what shares a PCIe switch's link, and the host's memory, gets its part of it. A chip of a pod has a way of its own.
/// A CPU's device copies within its own memory, by the core that computes: it reads and writes every byte. Not
/// modelled: messages of NICs on the same links (they turn off at the switch), copies both ways at once, memory of the
/// other socket.
class HostCopies {
public:
    /// Of the GPU of one rank, of so many on GPUs of their own.
    HostCopies(const topology::Cluster& cluster, const calibrate::Predictor& predictor, topology::GpuId gpu,
               const strategies::RankPlacement& placement, std::uint32_t ranks);

    /// Whether the GPU has a host.
    [[nodiscard]] bool possible() const { return rate_ > 0; }
    /// Throws Error where the GPU has no host to copy to.
    [[nodiscard]] double seconds(kernels::CopyKind kind, double bytes) const;

    /// Whether a copy takes its time from kernels beside it, as on a CPU.
    [[nodiscard]] bool takes_cores() const { return takes_cores_; }
    /// Where a rate that was not measured comes from: "copies to and from the host are not in the profile ..."; empty:
    /// all of it was.
    [[nodiscard]] std::string origin() const;

private:
    const calibrate::Predictor& predictor_;
    double rate_ = 0;     ///< of this GPU's copies when its neighbours copy too, bytes per second; 0: no host
    double latency_ = 0;  ///< of the way
    bool shared_ = false, takes_cores_ = false;
    std::string from_;
};

}  // namespace orrery::sim
