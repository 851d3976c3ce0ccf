#include "kernels/tcp/mesh.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace orrery::kernels::tcp {

namespace {

constexpr std::uint32_t greeting = 0x4f52'5259;  // "ORRY": a stranger that connects is sent away
/// Of a connection, at either end: ten times what 1 Gb/s carries in 200 us, and little enough that a rank cannot run
/// far ahead of the others.
constexpr int buffer_bytes = 256 * 1024;
/// When the doors are known every rank is about to connect: one that does not has ended.
constexpr std::chrono::seconds patience{60};

void prepare(const Socket& socket) {
    no_delay(socket);
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof buffer_bytes);
}

}  // namespace

Mesh::Mesh(HostGroup& group, const std::string& address, Clock::duration timeout) : peers_(group.ranks()) {
    const std::uint32_t own = group.rank();
    const Socket door = listen_at(0);
    setsockopt(door.get(), SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);  // of what it accepts
    const auto doors = group.all_gather(fmt::format("{} {}", port_of(door), address));
    const Clock::time_point deadline = Clock::now() + std::min<Clock::duration>(timeout, patience);
    for (std::uint32_t peer = 0; peer < own; ++peer)
        for (std::uint32_t purpose = 0; purpose < purposes; ++purpose) {
            const std::size_t space = doors[peer].find(' ');
            Socket socket = connect_to(doors[peer].substr(space + 1),
                                       static_cast<std::uint16_t>(std::stoul(doors[peer])), deadline);
            prepare(socket);
            const std::array<std::uint32_t, 3> words{greeting, own, purpose};
            send(socket, words.data(), sizeof words, deadline);
            peers_[peer][purpose] = std::move(socket);
        }
    for (std::size_t missing = (group.ranks() - 1 - own) * purposes; missing > 0;) {
        if (!ready(door, POLLIN, deadline)) fail(fmt::format("{} connections of other ranks did not come", missing));
        Socket guest = accept_at(door);
        if (!guest.open()) continue;
        std::array<std::uint32_t, 3> words{};
        receive(guest, words.data(), sizeof words, deadline);
        const auto [word, peer, purpose] = words;
        if (word != greeting || peer <= own || peer >= peers_.size() || purpose >= purposes) continue;
        if (peers_[peer][purpose].open()) continue;
        prepare(guest);
        peers_[peer][purpose] = std::move(guest);
        --missing;
    }
}

}  // namespace orrery::kernels::tcp
