// The seam to real communication: a group of ranks that run collectives. kernels/mpi and kernels/cuda (NCCL)
// implement it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/collective.hpp"
#include "kernels/device.hpp"

namespace orrery::kernels {

/// Of formats that communicators between CPUs reduce; a sum in 16 bits is rounded each time.
constexpr bool cpu_ranks_sum(Dtype dtype) { return dtype == Dtype::fp32 || is_half(dtype); }

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
    /// are device memory of send_bytes() and receive_bytes(), not overlapping but for NCCL's in-place forms: all_reduce
    /// with send = receive, all_gather whose send is this rank's part of receive, reduce_scatter whose receive is this
    /// rank's part of send. all_reduce and reduce_scatter reduce; the root of a broadcast is rank 0; send_recv passes
    /// everything to rank + 1 and receives from rank - 1, around the ring. Throws Error when ranks() elements do not
    /// divide bytes where the kind needs it.
    virtual void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                     Stream stream, Reduction reduction = Reduction::sum) = 0;
    /// Queues a message to, or from, one rank of the group; the k-th send meets the k-th receive of the same pair.
    virtual void send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) = 0;
    virtual void receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) = 0;

    /// Host-side, with nothing in flight: the group of the ranks that give the same color, in the order of their ranks
    /// here. Groups from different splits run at once, on streams of their own.
    [[nodiscard]] virtual std::unique_ptr<Communicator> split(std::uint32_t color) = 0;

    /// Host-side, all ranks together: makes run() ready for a stream. Only needed before a stream's own thread calls
    /// run() (Device::streams_are_threads).
    virtual void prepare(Stream stream) { (void)stream; }
    /// Host-side: all ranks arrive before any leaves.
    virtual void barrier() = 0;
    /// Host-side: the largest of the ranks' values, on every rank.
    [[nodiscard]] virtual double maximum(double value) = 0;
    /// Host-side: rank 0's text on every rank.
    [[nodiscard]] virtual std::string from_first(const std::string& text) = 0;
    /// Host-side: every rank's text, on every rank.
    [[nodiscard]] virtual std::vector<std::string> texts(const std::string& text) = 0;
    /// Makes every rank stop, whatever it waits for: their calls and their queued work throw DeviceError with this
    /// message, or their processes end.
    virtual void abort(const std::string& why) noexcept = 0;
};

/// Bytes of one rank's send and receive buffers for a collective of nccl-tests' size `bytes`.
std::uint64_t send_bytes(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);
std::uint64_t receive_bytes(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks);

/// The group of all processes that were started together (mpirun, srun): NCCL for a CUDA device, MPI for a CPU; null
/// when this process was started alone. communication: "auto", or "tcp" for ranks on CPUs without MPI. Throws Error
/// when the build lacks what the device needs, or for another name.
std::unique_ptr<Communicator> world(Device& device, std::string_view communication = "auto");

}  // namespace orrery::kernels
