// Collectives of CPU ranks over MPI: blocking, each stream of the device in a communicator of its own.
#pragma once

#include <mpi.h>

#include <map>

#include "kernels/communicator.hpp"

namespace orrery::kernels {

/// All of MPI_COMM_WORLD, initialised here and finalised at the end; MPI allows that once in a process. A rank that
/// unwinds through an exception leaves without finalising, whereupon the launcher ends the other ranks: none waits for
/// a rank that is gone.
class MpiCommunicator final : public Communicator {
public:
    explicit MpiCommunicator(Device& device);
    ~MpiCommunicator() override;
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
    [[nodiscard]] std::uint32_t nodes() const override { return nodes_; }
    [[nodiscard]] std::string software() const override;
    /// Sums fp32 alone; the other kinds move any format.
    void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype,
             Stream stream) override;
    void barrier() override;
    [[nodiscard]] double maximum(double value) override;
    [[nodiscard]] std::string from_first(const std::string& text) override;

private:
    /// The communicator of a stream: collectives of two streams must not be taken for each other.
    MPI_Comm of(Stream stream);

    Device& device_;
    std::uint32_t rank_ = 0, ranks_ = 1, nodes_ = 1;
    int exceptions_;  ///< in flight when this began
    bool concurrent_ = false;
    MPI_Comm control_ = MPI_COMM_NULL;
    std::map<Stream, MPI_Comm> streams_;
};

}  // namespace orrery::kernels
