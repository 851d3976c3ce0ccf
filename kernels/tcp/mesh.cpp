#include "kernels/tcp/mesh.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace orrery::kernels::tcp {

namespace {

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

Mesh::Mesh(HostGroup& group, const std::string& address, const std::string& secret, Clock::duration timeout)
    : peers_(group.ranks()) {
    const std::uint32_t own = group.rank();
    Door door(address, 0, secret);
    setsockopt(door.socket().get(), SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);  // of what it accepts
    const auto doors = group.all_gather(fmt::format("{} {}", door.port(), address));
    const Clock::time_point deadline = Clock::now() + std::min<Clock::duration>(timeout, patience);
    call_lower(doors, own, secret, deadline);
    admit_higher(door, own, deadline);
}

void Mesh::call_lower(const std::vector<std::string>& doors, std::uint32_t own, const std::string& secret,
                      Clock::time_point deadline) {
    for (std::uint32_t peer = 0; peer < own; ++peer)
        for (std::uint32_t purpose = 0; purpose < purposes; ++purpose) {
            const std::size_t space = doors[peer].find(' ');
            Socket socket = knock(doors[peer].substr(space + 1), static_cast<std::uint16_t>(std::stoul(doors[peer])),
                                  secret, {own, purpose}, deadline);
            prepare(socket);
            peers_[peer][purpose] = std::move(socket);
        }
}

void Mesh::admit_higher(Door& door, std::uint32_t own, Clock::time_point deadline) {
    for (std::size_t missing = (peers_.size() - 1 - own) * purposes; missing > 0;) {
        std::optional<Guest> guest = door.next(deadline);
        if (!guest) fail(fmt::format("{} connections of other ranks did not come", missing));
        const auto [peer, purpose] = guest->words;
        if (peer <= own || peer >= peers_.size() || purpose >= purposes) continue;
        Socket& place = peers_[peer][purpose];
        if (!place.open()) --missing;  // else a rank that missed the answer comes again
        prepare(guest->socket);
        place = std::move(guest->socket);
    }
}

}  // namespace orrery::kernels::tcp
