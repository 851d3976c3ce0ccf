// TCP sockets as ranks use them: whole messages, a deadline for everything, and errors that say what to look at.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "kernels/device.hpp"

namespace orrery::kernels::tcp {

using Clock = std::chrono::steady_clock;

/// Throws DeviceError: another rank is the cause, and its own message says more.
[[noreturn]] void fail(const std::string& what);

/// An open socket, closed at the end.
class Socket {
public:
    explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Socket();
    [[nodiscard]] int get() const { return descriptor_; }
    [[nodiscard]] bool open() const { return descriptor_ >= 0; }

private:
    int descriptor_;
};

/// Waits until the socket can be read (POLLIN) or written (POLLOUT). False when the time is over.
bool ready(const Socket& socket, short event, Clock::time_point deadline);

/// All bytes, or DeviceError: the other rank has ended, is lost, or did not answer in time.
void receive(const Socket& socket, void* to, std::size_t bytes, Clock::time_point deadline);
void send(const Socket& socket, const void* from, std::size_t bytes, Clock::time_point deadline);
/// What can be moved without waiting; 0 when nothing can.
std::size_t receive_some(const Socket& socket, void* to, std::size_t bytes);
std::size_t send_some(const Socket& socket, const void* from, std::size_t bytes);

/// Small messages leave at once.
void no_delay(const Socket& socket);

/// address: a name or number of this host; empty: all of its addresses. port 0: any that is free. Throws DeviceError
/// when it is taken, or the address is another host's.
Socket listen_at(const std::string& address, std::uint16_t port);
/// Where a host should listen that others call by this address: there, or at all addresses ("") where it is a name
/// that this host alone gives its loopback.
std::string address_to_listen_at(const std::string& address);
/// Of a socket that listens.
std::uint16_t port_of(const Socket& socket);
/// The next caller, without waiting; closed when there is none.
Socket accept_at(const Socket& door);
/// Tries until somebody listens there.
Socket connect_to(const std::string& address, std::uint16_t port, Clock::time_point deadline);
/// The address of this host, in numbers, on the way to another: where that one can answer to.
std::string address_towards(const std::string& other, std::uint16_t port);

}  // namespace orrery::kernels::tcp
