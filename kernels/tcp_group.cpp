#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "kernels/host_group.hpp"
#include "kernels/tcp/door.hpp"
#include "kernels/tcp/socket.hpp"

namespace orrery::kernels {

namespace {

using namespace tcp;
constexpr std::uint32_t most_bytes = 64u << 20;  // of one message

/// Texts with their lengths, in one piece: what is small leaves in one packet.
void send_texts(const Socket& socket, std::span<const std::string> texts, Clock::time_point deadline) {
    std::string all;
    for (const std::string& text : texts) {
        const auto bytes = static_cast<std::uint32_t>(text.size());
        all.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
        all += text;
    }
    send(socket, all.data(), all.size(), deadline);
}

std::string receive_text(const Socket& socket, Clock::time_point deadline) {
    std::uint32_t bytes = 0;
    receive(socket, &bytes, sizeof bytes, deadline);
    if (bytes > most_bytes) fail(fmt::format("another rank sends {} bytes", bytes));
    std::string text(bytes, '\0');
    receive(socket, text.data(), bytes, deadline);
    return text;
}

/// A star with rank 0 in its middle.
class TcpGroup final : public HostGroup {
public:
    TcpGroup(const Processes& processes, double timeout_seconds)
        : rank_(processes.rank),
          timeout_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds))),
          peers_(processes.ranks) {
        rank_ == 0 ? admit_all(processes) : greet(processes);
    }

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(peers_.size()); }

    std::vector<std::string> all_gather(const std::string& own) override {
        const Clock::time_point deadline = Clock::now() + timeout_;
        std::vector<std::string> texts(peers_.size());
        if (rank_ != 0) {
            send_texts(peers_[0], {&own, 1}, deadline);
            for (std::string& text : texts) text = receive_text(peers_[0], deadline);
            return texts;
        }
        texts[0] = own;
        for (std::size_t r = 1; r < peers_.size(); ++r) texts[r] = receive_text(peers_[r], deadline);
        for (std::size_t r = 1; r < peers_.size(); ++r) send_texts(peers_[r], texts, deadline);
        return texts;
    }

private:
    void admit_all(const Processes& processes) {
        const Clock::time_point deadline = Clock::now() + timeout_;
        Door door(processes.address, processes.port, processes.secret);
        for (std::size_t missing = peers_.size() - 1; missing > 0;) {
            std::optional<Guest> guest = door.next(deadline);
            if (!guest)
                fail(fmt::format("{} of {} ranks did not come to {}:{} in time", missing, peers_.size(),
                                 processes.address, processes.port));
            const std::uint32_t rank = guest->words[0];
            if (rank == 0 || rank >= peers_.size()) continue;
            if (!peers_[rank].open()) --missing;  // else a rank that missed the answer comes again
            no_delay(guest->socket);
            peers_[rank] = std::move(guest->socket);
        }
    }

    void greet(const Processes& processes) {
        peers_[0] = knock(processes.address, processes.port, processes.secret, {rank_, 0}, Clock::now() + timeout_);
        no_delay(peers_[0]);
    }

    std::uint32_t rank_;
    Clock::duration timeout_;
    std::vector<Socket> peers_;  ///< rank 0: one for each other rank; others: that to rank 0
};

class Part final : public HostGroup {
public:
    Part(HostGroup& whole, std::uint32_t color) : whole_(whole) {
        const std::vector<std::string> colors = whole.all_gather(std::to_string(color));
        for (std::uint32_t r = 0; r < colors.size(); ++r) {
            if (r == whole.rank()) rank_ = static_cast<std::uint32_t>(members_.size());
            if (colors[r] == colors[whole.rank()]) members_.push_back(r);
        }
    }
    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(members_.size()); }
    std::vector<std::string> all_gather(const std::string& own) override {
        std::vector<std::string> texts;
        const std::vector<std::string> all = whole_.all_gather(own);
        for (const std::uint32_t member : members_) texts.push_back(all[member]);
        return texts;
    }

private:
    HostGroup& whole_;
    std::vector<std::uint32_t> members_;
    std::uint32_t rank_ = 0;
};

class Alone final : public HostGroup {
public:
    [[nodiscard]] std::uint32_t rank() const override { return 0; }
    [[nodiscard]] std::uint32_t ranks() const override { return 1; }
    std::vector<std::string> all_gather(const std::string& own) override { return {own}; }
};

}  // namespace

std::unique_ptr<HostGroup> part_of(HostGroup& whole, std::uint32_t color) {
    return std::make_unique<Part>(whole, color);
}

std::unique_ptr<HostGroup> alone() { return std::make_unique<Alone>(); }

std::unique_ptr<HostGroup> connect_by_tcp(const Processes& processes, double timeout_seconds) {
    if (processes.secret.empty())
        throw Error(fmt::format("this job has no secret: whoever reaches {}:{} could join it", processes.address,
                                processes.port),
                    fmt::format("set {0} to the same for every rank: {0}=$(openssl rand -hex 16) srun ..., which "
                                "passes it on (mpirun -x {0}); torchrun on several hosts: the same on each",
                                secret_variable));
    return std::make_unique<TcpGroup>(processes, timeout_seconds);
}

}  // namespace orrery::kernels
