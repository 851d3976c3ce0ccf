// Collectives of GPUs by NCCL.
#pragma once

#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "kernels/communicator.hpp"
#include "kernels/cuda/cuda_device.hpp"
#include "kernels/host_group.hpp"

namespace orrery::kernels::cuda {

/// Neither a lost rank nor a stuck network hangs a rank: host calls poll NCCL and give up after the timeout, and a
/// watchdog aborts the communicator when the GPU's part stays unfinished that long or NCCL reports an error, so that
/// Device::synchronize() returns and the next call here throws.
class NcclCommunicator final : public Communicator {
public:
    /// Every rank of the group makes one, each with a GPU of its own, which must outlive this.
    NcclCommunicator(CudaDevice& device, std::unique_ptr<HostGroup> group, double timeout_seconds);
    ~NcclCommunicator() override;
    NcclCommunicator(const NcclCommunicator&) = delete;
    NcclCommunicator& operator=(const NcclCommunicator&) = delete;

    [[nodiscard]] std::uint32_t rank() const override { return group_->rank(); }
    [[nodiscard]] std::uint32_t ranks() const override { return group_->ranks(); }
    [[nodiscard]] std::uint32_t nodes() const override { return nodes_; }
    [[nodiscard]] std::string software() const override;
    void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype, Stream stream,
             Reduction reduction = Reduction::sum) override;
    void send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) override;
    void receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) override;
    /// Host-side calls of the parts are made by all ranks of the whole together, which outlives them.
    [[nodiscard]] std::unique_ptr<Communicator> split(std::uint32_t color) override;
    void barrier() override;
    [[nodiscard]] double maximum(double value) override;
    [[nodiscard]] std::string from_first(const std::string& text) override;
    [[nodiscard]] std::vector<std::string> texts(const std::string& text) override;
    /// Aborts the communicator, whereupon the queued work of every rank ends or times out.
    void abort(const std::string& why) noexcept override;

private:
    using Clock = std::chrono::steady_clock;

    void connect();
    ncclResult_t queue(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
                       ncclRedOp_t reduction, cudaStream_t stream);
    /// Asks NCCL for something on a stream and remembers when.
    template <class Ask>
    void ask(Stream stream, const std::string& doing, const Ask& ask);
    /// The watchdog waits for what is queued on the stream so far. With mutex_ held.
    void watch_until(cudaStream_t stream);
    /// Waits until NCCL has taken what was asked, and throws what went wrong.
    void settle(ncclResult_t result, std::string_view doing);
    void throw_if_failed() const;          ///< with mutex_ held
    void give_up(const std::string& why);  ///< with mutex_ held
    void watch();

    CudaDevice& device_;
    std::unique_ptr<HostGroup> group_;
    Clock::duration timeout_;
    std::uint32_t nodes_ = 1;
    ncclComm_t communicator_ = nullptr;

    std::mutex mutex_;              ///< of all below
    cudaEvent_t latest_ = nullptr;  ///< after the collective queued last
    Clock::time_point queued_at_;
    bool queued_ = false;  ///< latest_ may still be ahead of the GPU
    std::string failure_;  ///< why the communicator was aborted
    bool ending_ = false;
    std::condition_variable ended_;
    std::thread watchdog_;
};

}  // namespace orrery::kernels::cuda
