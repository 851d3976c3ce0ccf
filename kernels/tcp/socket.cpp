#include "kernels/tcp/socket.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

namespace orrery::kernels::tcp {

namespace {

constexpr std::chrono::milliseconds again_after{100};  // while nobody listens yet

std::string last_error() { return std::strerror(errno); }

/// Moves all bytes: `move` is recv or send and returns how many it moved.
template <class Move>
void move_all(const Socket& socket, short event, std::size_t bytes, Clock::time_point deadline, Move move) {
    for (std::size_t done = 0; done < bytes;) {
        if (!ready(socket, event, deadline)) fail("another rank did not answer in time");
        const ssize_t count = move(done, bytes - done);
        if (count > 0)
            done += static_cast<std::size_t>(count);
        else if (count == 0 || (errno != EINTR && errno != EAGAIN))
            fail(count == 0 ? "another rank has ended" : fmt::format("another rank is lost: {}", last_error()));
    }
}

std::size_t moved(ssize_t count) {
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0) fail("another rank has ended");
    if (errno != EINTR && errno != EAGAIN) fail(fmt::format("another rank is lost: {}", last_error()));
    return 0;
}

/// Calls f(address) for each address of the host until it returns an open socket.
template <class F>
Socket first_open(const char* host, std::uint16_t port, int flags, int type, F f) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = flags;
    hints.ai_socktype = type;
    const int status = getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
    if (status != 0) fail(fmt::format("{}: {}", host == nullptr ? "this host" : host, gai_strerror(status)));
    Socket socket;
    for (const addrinfo* entry = found; entry != nullptr && !socket.open(); entry = entry->ai_next) socket = f(*entry);
    freeaddrinfo(found);
    return socket;
}

Socket connected(const std::string& address, std::uint16_t port, int type) {
    return first_open(address.c_str(), port, 0, type, [](const addrinfo& entry) {
        Socket made(::socket(entry.ai_family, entry.ai_socktype | SOCK_CLOEXEC, entry.ai_protocol));
        if (made.open() && connect(made.get(), entry.ai_addr, entry.ai_addrlen) == 0) return made;
        return Socket{};
    });
}

bool is_loopback(const sockaddr& address) {
    if (address.sa_family == AF_INET) {
        constexpr std::uint32_t loopback_net = 127, net_shift = 24;
        const std::uint32_t number = ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
        return number >> net_shift == loopback_net;
    }
    return address.sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

}  // namespace

void fail(const std::string& what) {
    throw DeviceError(what, "all ranks must run the same command; the first rank's message names the cause");
}

Socket::~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
}

bool ready(const Socket& socket, short event, Clock::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd entry{socket.get(), event, 0};
        const int count = poll(&entry, 1, static_cast<int>(std::clamp<long long>(left, 0, 3'600'000)));
        if (count > 0) return true;
        if (count == 0) return false;
        if (errno != EINTR) fail(fmt::format("waiting for another rank: {}", last_error()));
    }
}

void receive(const Socket& socket, void* to, std::size_t bytes, Clock::time_point deadline) {
    move_all(socket, POLLIN, bytes, deadline, [&](std::size_t done, std::size_t left) {
        return recv(socket.get(), static_cast<char*>(to) + done, left, 0);
    });
}

void send(const Socket& socket, const void* from, std::size_t bytes, Clock::time_point deadline) {
    move_all(socket, POLLOUT, bytes, deadline, [&](std::size_t done, std::size_t left) {
        return ::send(socket.get(), static_cast<const char*>(from) + done, left, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
}

std::size_t receive_some(const Socket& socket, void* to, std::size_t bytes) {
    return moved(recv(socket.get(), to, bytes, MSG_DONTWAIT));
}

std::size_t send_some(const Socket& socket, const void* from, std::size_t bytes) {
    return moved(::send(socket.get(), from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT));
}

void no_delay(const Socket& socket) {
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string address_to_listen_at(const std::string& address) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    const bool is_number = getaddrinfo(address.c_str(), nullptr, &hints, &found) == 0;
    if (is_number) freeaddrinfo(found);
    if (is_number || address == "localhost") return address;
    hints.ai_flags = 0;
    if (getaddrinfo(address.c_str(), nullptr, &hints, &found) != 0) return address;
    const bool loopback = is_loopback(*found->ai_addr);
    freeaddrinfo(found);
    return loopback ? "" : address;
}

Socket listen_at(const std::string& address, std::uint16_t port) {
    const char* const host = address.empty() ? nullptr : address.c_str();
    Socket socket = first_open(host, port, AI_PASSIVE, SOCK_STREAM, [](const addrinfo& entry) {
        Socket made(::socket(entry.ai_family, entry.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, entry.ai_protocol));
        const int on = 1;
        if (!made.open()) return made;
        setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(made.get(), entry.ai_addr, entry.ai_addrlen) == 0 && listen(made.get(), SOMAXCONN) == 0) return made;
        return Socket{};
    });
    if (!socket.open())
        throw DeviceError(
            fmt::format("cannot listen at {}:{}: {}", address.empty() ? "*" : address, port, last_error()),
            "MASTER_ADDR is rank 0's host, and MASTER_PORT a port that is free there");
    return socket;
}

std::uint16_t port_of(const Socket& socket) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    std::array<char, 16> port{};
    if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        getnameinfo(reinterpret_cast<sockaddr*>(&address), length, nullptr, 0, port.data(), port.size(),
                    NI_NUMERICSERV) != 0)
        fail(fmt::format("asking for a port: {}", last_error()));
    return static_cast<std::uint16_t>(std::stoul(port.data()));
}

Socket accept_at(const Socket& door) { return Socket(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

Socket connect_to(const std::string& address, std::uint16_t port, Clock::time_point deadline) {
    for (;;) {
        Socket socket = connected(address, port, SOCK_STREAM);
        if (socket.open()) return socket;
        if (Clock::now() + again_after > deadline)
            fail(fmt::format("no rank answers at {}:{}: {}", address, port, last_error()));
        std::this_thread::sleep_for(again_after);
    }
}

std::string address_towards(const std::string& other, std::uint16_t port) {
    const Socket way = connected(other, port, SOCK_DGRAM);  // sends nothing
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    std::array<char, NI_MAXHOST> text{};
    if (!way.open() || getsockname(way.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
        getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
        fail(fmt::format("no way to {}: {}", other, last_error()));
    return text.data();
}

}  // namespace orrery::kernels::tcp
