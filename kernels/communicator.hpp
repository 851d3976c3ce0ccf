// The seam to real communication: a group of ranks that run collectives. kernels/mpi and kernels/cuda (NCCL)
// implement it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/collective.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels {

/// All ranks of the group call the same operations in the same order. Every call may throw DeviceError.
class Communicator {
public:
    virtual ~Communicator() = default;

    [[nodiscard]] virtual std::uint32_t rank() const = 0;
    [[nodiscard]] virtual std::uint32_t ranks() const = 0;
    /// Distinct hosts among the ranks.
    [[nodiscard]] virtual std::uint32_t nodes() const = 0;
    /// Library with its version ("NCCL 2.28.3", "Open MPI 4.1.4").
    [[nodiscard]] virtual std::string software() const = 0;

    /// Queues a collective on a stream of the device. bytes: nccl-tests' size, the whole vector; `send` and `receive`
    /// are device memory of send_bytes() and receive_bytes(), not overlapping. all_reduce and reduce_scatter sum; the
    /// root of a broadcast is rank 0; send_recv passes everything to rank + 1 and receives from rank - 1, around the
    /// ring. Throws Error when ranks() elements do not divide bytes where the kind needs it.
    virtual void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                     Stream stream) = 0;

    /// Host-side: all ranks arrive before any leaves.
    virtual void barrier() = 0;
    /// Host-side: the largest of the ranks' values, on every rank.
    [[nodiscard]] virtual double maximum(double value) = 0;
    /// Host-side: rank 0's text on every rank.
    [[nodiscard]] virtual std::string from_first(const std::string& text) = 0;
};

/// Bytes of one rank's send and receive buffers for a collective of nccl-tests' size `bytes`.
std::uint64_t send_bytes(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);
std::uint64_t receive_bytes(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);

/// The group of all processes that were started together (mpirun, srun): NCCL for a CUDA device, MPI for a CPU; null
/// when this process was started alone. Throws Error when the build lacks what the device needs.
std::unique_ptr<Communicator> world(Device& device);

}  // namespace orrery::kernels
