// Communication of CPU ranks over MPI, each stream of the device in a communicator of its own.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>

#include "kernels/communicator.hpp"

namespace orrery::kernels {

/// MPI from its start to its end, which a process may have once. A rank that unwinds through an exception leaves
/// without finalising, whereupon the launcher ends the other ranks: none waits for a rank that is gone.
class MpiSession {
public:
    MpiSession();
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
    /// Whether several threads may call MPI at once.
    [[nodiscard]] bool concurrent() const { return concurrent_; }

private:
    int exceptions_;  ///< in flight when this began
    bool concurrent_ = false;
};

/// Collectives block their stream. A stream that waits for a message gives way between looks, because it shares its
/// core with streams that compute.
class MpiCommunicator final : public Communicator {
public:
    /// The group of `parent`'s ranks that give the same color. All of them make one.
    MpiCommunicator(Device& device, std::shared_ptr<MpiSession> session, MPI_Comm parent, std::uint32_t color);
    ~MpiCommunicator() override;
    MpiCommunicator(const MpiCommunicator&) = delete;
    MpiCommunicator& operator=(const MpiCommunicator&) = delete;

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
    [[nodiscard]] std::uint32_t nodes() const override { return nodes_; }
    [[nodiscard]] std::string software() const override;
    /// Reduces fp32 alone; the other kinds move any format.
    void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype, Stream stream,
             Reduction reduction = Reduction::sum) override;
    void send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) override;
    void receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) override;
    [[nodiscard]] std::unique_ptr<Communicator> split(std::uint32_t color) override;
    void prepare(Stream stream) override { (void)of(stream); }
    void barrier() override;
    [[nodiscard]] double maximum(double value) override;
    [[nodiscard]] std::string from_first(const std::string& text) override;
    [[nodiscard]] std::vector<std::string> texts(const std::string& text) override;
    /// Ends all processes of the job, with exit code 3.
    void abort(const std::string& why) noexcept override;

private:
    /// The communicator of a stream: collectives of two streams must not be taken for each other.
    MPI_Comm of(Stream stream);
    void require_thread(Stream stream) const;

    Device& device_;
    std::shared_ptr<MpiSession> session_;
    int exceptions_;
    std::uint32_t rank_ = 0, ranks_ = 1, nodes_ = 1;
    MPI_Comm control_ = MPI_COMM_NULL;
    MPI_Comm messages_ = MPI_COMM_NULL;
    std::map<Stream, MPI_Comm> streams_;
};

}  // namespace orrery::kernels
