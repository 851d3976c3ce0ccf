// Processes that agree on the host: what a communicator of GPUs needs besides the GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/processes.hpp"

namespace orrery::kernels {

class HostGroup {
public:
    virtual ~HostGroup() = default;
    [[nodiscard]] virtual std::uint32_t rank() const = 0;
    [[nodiscard]] virtual std::uint32_t ranks() const = 0;
    /// Every rank's text, by rank, on every rank. Returns when all have called it. Throws DeviceError when a rank is
    /// lost or does not answer in time.
    virtual std::vector<std::string> all_gather(const std::string& own) = 0;
};

/// The ranks of `whole` that give the same color, in its order. All ranks of the whole make one, and call all_gather of
/// their parts together. `whole` must outlive it.
std::unique_ptr<HostGroup> part_of(HostGroup& whole, std::uint32_t color);

/// A group of this process alone.
std::unique_ptr<HostGroup> alone();

/// Rank 0 listens at processes.address:port, and there alone, and the others connect to it and prove by
/// processes.secret that they belong to the job; the connections stay. No library is needed.
/// timeout_seconds: how long to wait for a rank, now and in each all_gather. Throws DeviceError, and Error where the
/// job has no secret.
std::unique_ptr<HostGroup> connect_by_tcp(const Processes& processes, double timeout_seconds);

}  // namespace orrery::kernels
