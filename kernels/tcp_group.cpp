#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/host_group.hpp"

namespace orrery::kernels {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::uint32_t greeting = 0x4f52'5259;        // "ORRY": a stranger that connects is sent away
constexpr std::uint32_t most_bytes = 64u << 20;        // of one message
constexpr std::chrono::milliseconds again_after{100};  // while rank 0 does not listen yet

std::string last_error() { return std::strerror(errno); }

[[noreturn]] void fail(const std::string& what) {
    throw DeviceError(what, "all ranks must run the same command; the first rank's message names the cause");
}

/// An open socket, closed at the end.
class Socket {
public:
    explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~Socket() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    [[nodiscard]] int get() const { return descriptor_; }
    [[nodiscard]] bool open() const { return descriptor_ >= 0; }

private:
    int descriptor_;
};

/// Waits until the socket can be read (or written). False when the time is over.
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

void receive(const Socket& socket, void* to, std::size_t bytes, Clock::time_point deadline) {
    move_all(socket, POLLIN, bytes, deadline, [&](std::size_t done, std::size_t left) {
        return recv(socket.get(), static_cast<char*>(to) + done, left, 0);
    });
}

void send_bytes_to(const Socket& socket, const void* from, std::size_t bytes, Clock::time_point deadline) {
    move_all(socket, POLLOUT, bytes, deadline, [&](std::size_t done, std::size_t left) {
        return send(socket.get(), static_cast<const char*>(from) + done, left, MSG_NOSIGNAL);
    });
}

void send_text(const Socket& socket, const std::string& text, Clock::time_point deadline) {
    const auto bytes = static_cast<std::uint32_t>(text.size());
    send_bytes_to(socket, &bytes, sizeof bytes, deadline);
    send_bytes_to(socket, text.data(), text.size(), deadline);
}

std::string receive_text(const Socket& socket, Clock::time_point deadline) {
    std::uint32_t bytes = 0;
    receive(socket, &bytes, sizeof bytes, deadline);
    if (bytes > most_bytes) fail(fmt::format("another rank sends {} bytes", bytes));
    std::string text(bytes, '\0');
    receive(socket, text.data(), bytes, deadline);
    return text;
}

void no_delay(const Socket& socket) {
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Calls f(address) for each address of the host until it returns an open socket.
template <class F>
Socket first_open(const char* host, std::uint16_t port, int flags, F f) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = flags;
    hints.ai_socktype = SOCK_STREAM;
    const int status = getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
    if (status != 0) fail(fmt::format("{}: {}", host == nullptr ? "this host" : host, gai_strerror(status)));
    Socket socket;
    for (const addrinfo* entry = found; entry != nullptr && !socket.open(); entry = entry->ai_next) socket = f(*entry);
    freeaddrinfo(found);
    return socket;
}

Socket listen_at(std::uint16_t port) {
    Socket socket = first_open(nullptr, port, AI_PASSIVE, [](const addrinfo& entry) {
        Socket made(::socket(entry.ai_family, entry.ai_socktype | SOCK_CLOEXEC, entry.ai_protocol));
        const int on = 1;
        if (!made.open()) return made;
        setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(made.get(), entry.ai_addr, entry.ai_addrlen) == 0 && listen(made.get(), SOMAXCONN) == 0) return made;
        return Socket{};
    });
    if (!socket.open())
        throw DeviceError(fmt::format("cannot listen at port {}: {}", port, last_error()), "set MASTER_PORT");
    return socket;
}

Socket connect_to(const Processes& processes, Clock::time_point deadline) {
    for (;;) {
        Socket socket = first_open(processes.address.c_str(), processes.port, 0, [](const addrinfo& entry) {
            Socket made(::socket(entry.ai_family, entry.ai_socktype | SOCK_CLOEXEC, entry.ai_protocol));
            if (made.open() && connect(made.get(), entry.ai_addr, entry.ai_addrlen) == 0) return made;
            return Socket{};
        });
        if (socket.open()) return socket;
        if (Clock::now() + again_after > deadline)
            fail(fmt::format("rank 0 does not answer at {}:{}: {}", processes.address, processes.port, last_error()));
        std::this_thread::sleep_for(again_after);
    }
}

/// A star with rank 0 in its middle.
class TcpGroup final : public HostGroup {
public:
    TcpGroup(const Processes& processes, double timeout_seconds)
        : rank_(processes.rank),
          timeout_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_seconds))),
          peers_(processes.ranks) {
        rank_ == 0 ? accept_all(processes.port) : greet(processes);
    }

    [[nodiscard]] std::uint32_t rank() const override { return rank_; }
    [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(peers_.size()); }

    std::vector<std::string> all_gather(const std::string& own) override {
        const Clock::time_point deadline = Clock::now() + timeout_;
        std::vector<std::string> texts(peers_.size());
        if (rank_ != 0) {
            send_text(peers_[0], own, deadline);
            for (std::string& text : texts) text = receive_text(peers_[0], deadline);
            return texts;
        }
        texts[0] = own;
        for (std::size_t r = 1; r < peers_.size(); ++r) texts[r] = receive_text(peers_[r], deadline);
        for (std::size_t r = 1; r < peers_.size(); ++r)
            for (const std::string& text : texts) send_text(peers_[r], text, deadline);
        return texts;
    }

private:
    void accept_all(std::uint16_t port) {
        const Clock::time_point deadline = Clock::now() + timeout_;
        const Socket door = listen_at(port);
        for (std::size_t missing = peers_.size() - 1; missing > 0;) {
            if (!ready(door, POLLIN, deadline))
                fail(fmt::format("{} of {} ranks did not come to port {} in time", missing, peers_.size(), port));
            Socket guest(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!guest.open()) continue;
            std::uint32_t words[2] = {};
            receive(guest, words, sizeof words, deadline);
            if (words[0] != greeting || words[1] == 0 || words[1] >= peers_.size() || peers_[words[1]].open()) continue;
            no_delay(guest);
            peers_[words[1]] = std::move(guest);
            --missing;
        }
    }

    void greet(const Processes& processes) {
        const Clock::time_point deadline = Clock::now() + timeout_;
        peers_[0] = connect_to(processes, deadline);
        no_delay(peers_[0]);
        const std::uint32_t words[2] = {greeting, rank_};
        send_bytes_to(peers_[0], words, sizeof words, deadline);
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
    return std::make_unique<TcpGroup>(processes, timeout_seconds);
}

}  // namespace orrery::kernels
