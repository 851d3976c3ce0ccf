#include "kernels/tcp/door.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/processes.hpp"

namespace orrery::kernels::tcp {

namespace {

constexpr std::uint32_t mark = 0x4f52'5932;  // "ORY2"
constexpr std::chrono::milliseconds again_after{100};
/// How long a guest waits for an answer, and tries again after wrong ones: a rank may be busy with its own calls.
constexpr std::chrono::seconds patience_with_strangers{30};

struct Greeting {
    std::uint32_t mark;
    Words words;
    std::array<char, Halves::bytes> half;
};
struct Answer {
    std::uint32_t mark;
    std::array<char, Halves::bytes> half;
};

/// Takes as long for every wrong one.
bool same(const std::array<char, Halves::bytes>& a, const std::array<char, Halves::bytes>& b) {
    volatile unsigned char differ = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        differ = static_cast<unsigned char>(differ | static_cast<unsigned char>(a[i] ^ b[i]));
    return differ == 0;
}

/// One attempt to get in; why not, where it fails.
std::optional<std::string> enter(const Socket& socket, const Halves& halves, const Words& words,
                                 Clock::time_point deadline) {
    try {
        const Greeting greeting{mark, words, halves.guest};
        send(socket, &greeting, sizeof greeting, deadline);
        Answer text{};
        receive(socket, &text, sizeof text, deadline);
        if (text.mark == mark && same(text.half, halves.door)) return std::nullopt;
        return "answers with another secret";
    } catch (const DeviceError&) {
        return "does not let this rank in";
    }
}

/// Takes what a guest has said since; false when it has left.
bool hear(const Socket& socket, std::string& said) {
    std::array<char, sizeof(Greeting)> more{};
    try {
        const std::size_t count = receive_some(socket, more.data(), more.size() - said.size());
        said.append(more.data(), count);
        return true;
    } catch (const DeviceError&) {
        return false;
    }
}

/// Whether the guest was still there.
bool answer(const Socket& socket, const Halves& halves) {
    try {
        const Answer text{mark, halves.door};
        send(socket, &text, sizeof text, Clock::now() + Door::patience);
        return true;
    } catch (const DeviceError&) {
        return false;
    }
}

}  // namespace

Halves::Halves(const std::string& secret) {
    constexpr std::size_t least = 16;
    if (secret.empty()) return;
    if (secret.size() < least || secret.size() > 2 * bytes)
        throw Error(
            fmt::format("the environment variable {} has {} characters", secret_variable, secret.size()),
            fmt::format("{} to {}, the same for every rank, as `openssl rand -hex 16` prints them", least, 2 * bytes));
    const std::size_t half = secret.size() / 2;
    std::copy_n(secret.begin(), half, guest.begin());
    std::copy(secret.begin() + static_cast<std::ptrdiff_t>(half), secret.end(), door.begin());
}

Door::Door(const std::string& address, std::uint16_t port, const std::string& secret)
    : halves_(secret), door_(listen_at(address_to_listen_at(address), port)) {}

void Door::let_in_all() {
    for (Socket guest = accept_at(door_); guest.open(); guest = accept_at(door_)) {
        if (waiting_.size() == most_waiting) waiting_.pop_front();
        waiting_.push_back({std::move(guest), Clock::now() + patience});
    }
}

/// Hears every guest out as far as it has spoken, up to one that shows the secret.
std::optional<Guest> Door::listen_to_all() {
    for (auto guest = waiting_.begin(); guest != waiting_.end();) {
        if (!hear(guest->socket, guest->said)) guest->deadline = {};
        if (guest->said.size() == sizeof(Greeting)) {
            Greeting greeting{};
            std::memcpy(&greeting, guest->said.data(), sizeof greeting);
            Socket socket = std::move(guest->socket);
            guest = waiting_.erase(guest);
            if (greeting.mark == mark && same(greeting.half, halves_.guest) && answer(socket, halves_))
                return Guest{std::move(socket), greeting.words};
        } else {
            guest = guest->deadline < Clock::now() ? waiting_.erase(guest) : std::next(guest);
        }
    }
    return std::nullopt;
}

std::optional<Guest> Door::next(Clock::time_point deadline) {
    for (;;) {
        if (auto guest = listen_to_all()) return guest;
        const Clock::time_point now = Clock::now();
        if (now >= deadline) return std::nullopt;
        std::vector<pollfd> entries{{door_.get(), POLLIN, 0}};
        Clock::time_point until = deadline;
        for (const Waiting& guest : waiting_) {
            entries.push_back({guest.socket.get(), POLLIN, 0});
            until = std::min(until, guest.deadline);
        }
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
        constexpr long long longest = 1000;
        (void)::poll(entries.data(), entries.size(), static_cast<int>(std::clamp<long long>(left, 1, longest)));
        if (entries.front().revents != 0) let_in_all();
    }
}

Socket knock(const std::string& address, std::uint16_t port, const std::string& secret, const Words& words,
             Clock::time_point deadline) {
    const Halves halves(secret);
    std::optional<Clock::time_point> refused;
    for (;;) {
        Socket socket = connect_to(address, port, deadline);
        const auto why = enter(socket, halves, words, std::min(deadline, Clock::now() + patience_with_strangers));
        if (!why) return socket;
        const Clock::time_point now = Clock::now();
        if (!refused) refused = now;
        if (now + again_after > std::min(deadline, *refused + patience_with_strangers))
            fail(
                fmt::format("who listens at {}:{} {}: is it another job's, or has {} not the same value for all ranks?",
                            address, port, *why, secret_variable));
        std::this_thread::sleep_for(again_after);
    }
}

}  // namespace orrery::kernels::tcp
