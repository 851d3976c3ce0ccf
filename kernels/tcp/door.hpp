// Where ranks of one job meet: who does not know the job's secret is sent away, and holds nobody up.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "kernels/tcp/socket.hpp"

namespace orrery::kernels::tcp {

/// What a guest says of itself: its rank, and what the connection is for.
using Words = std::array<std::uint32_t, 2>;

/// Both sides of a connection show a half of the job's secret, the guest first: a door that is not the job's cannot
/// answer, and nobody learns the second half without the first. The connection itself is plain: who reads the network
/// reads the secret too. (Signatures would need a library that machines with a GPU often lack.)
struct Halves {
    /// Throws Error for a secret longer than 128 or shorter than 16 characters; none at all is one that all know.
    explicit Halves(const std::string& secret);
    static constexpr std::size_t bytes = 64;
    std::array<char, bytes> guest{}, door{};
};

struct Guest {
    Socket socket;
    Words words{};
};

class Door {
public:
    /// Listens at an address of this host alone; port 0: any that is free. A name that this host gives its loopback
    /// (as Debian does to its own) while others find it elsewhere stands for all addresses. Throws DeviceError.
    Door(const std::string& address, std::uint16_t port, const std::string& secret);

    [[nodiscard]] std::uint16_t port() const { return port_of(door_); }
    [[nodiscard]] const Socket& socket() const { return door_; }
    /// The next guest that shows the secret; none when the time is over. Others are dropped: when they say something
    /// else, say nothing for `patience`, leave, or are too many.
    std::optional<Guest> next(Clock::time_point deadline);

    static constexpr std::chrono::seconds patience{5};
    static constexpr std::size_t most_waiting = 256;  ///< guests that have not said all yet

private:
    /// A guest that has not shown yet who it is.
    struct Waiting {
        Socket socket;
        Clock::time_point deadline;
        std::string said{};
    };

    void let_in_all();
    std::optional<Guest> listen_to_all();

    Halves halves_;
    Socket door_;
    std::deque<Waiting> waiting_;
};

/// Goes to a door until it is let in. Throws DeviceError when nobody answers in time, or when for half a minute
/// somebody does who does not know the secret.
Socket knock(const std::string& address, std::uint16_t port, const std::string& secret, const Words& words,
             Clock::time_point deadline);

}  // namespace orrery::kernels::tcp
