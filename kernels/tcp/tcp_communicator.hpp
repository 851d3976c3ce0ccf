// Communication of CPU ranks over plain TCP: rings of blocking sockets, which cost no processor time while they wait.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/communicator.hpp"
#include "kernels/host_group.hpp"
#include "kernels/tcp/mesh.hpp"
#include "kernels/tcp/ring.hpp"

namespace orrery::kernels::tcp {

/// A message begins when both ranks are there, a collective when the neighbours in the ring are. Collectives of one
/// communicator belong to one stream.
class TcpCommunicator final : public Communicator {
public:
    /// address: where other ranks find this host; secret: the job's.
    TcpCommunicator(Device& device, std::unique_ptr<HostGroup> group, std::string address, std::string secret,
                    double timeout_seconds);
    ~TcpCommunicator() override;

    [[nodiscard]] std::uint32_t rank() const override { return group_->rank(); }
    [[nodiscard]] std::uint32_t ranks() const override { return group_->ranks(); }
    [[nodiscard]] std::uint32_t nodes() const override { return nodes_; }
    [[nodiscard]] std::string software() const override { return "TCP, rings of blocking sockets"; }
    /// Reduces fp32 alone; the other kinds move any format. Throws Error for collectives on a second stream.
    void run(CollectiveKind kind, const void* send, void* receive, std::uint64_t bytes, Dtype dtype, Stream stream,
             Reduction reduction = Reduction::sum) override;
    void send(const void* memory, std::uint64_t bytes, std::uint32_t to, Stream stream) override;
    void receive(void* memory, std::uint64_t bytes, std::uint32_t from, Stream stream) override;
    [[nodiscard]] std::unique_ptr<Communicator> split(std::uint32_t color) override;
    void barrier() override { (void)group_->all_gather({}); }
    [[nodiscard]] double maximum(double value) override;
    [[nodiscard]] std::string from_first(const std::string& text) override;
    [[nodiscard]] std::vector<std::string> texts(const std::string& text) override { return group_->all_gather(text); }
    /// Ends this process with exit code 3; the others lose their connections to it and end as well.
    void abort(const std::string& why) noexcept override;

private:
    struct Job;
    void perform(const Job& job) const;
    template <class T>
    void combine(const Ring& ring, const Job& job) const;
    [[nodiscard]] Ring ring() const;

    Device& device_;
    std::unique_ptr<HostGroup> group_;
    std::string address_, secret_;
    double timeout_seconds_;
    Clock::duration timeout_;
    Mesh mesh_;
    std::uint32_t nodes_ = 1;
    std::optional<Stream> stream_;
};

}  // namespace orrery::kernels::tcp
