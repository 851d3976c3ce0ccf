#include "kernels/tcp/ring.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <span>

#include "kernels/bfloat16.hpp"
#include "kernels/float16.hpp"

namespace orrery::kernels::tcp {

namespace {

/// What is received in one go, and reduced while it is in the cache.
constexpr std::size_t piece_bytes = 64 * 1024;

/// Takes what has arrived; returns how much.
using Take = std::function<std::size_t(std::uint64_t left)>;

/// Sends and receives at once, waiting for whichever can go on.
void move_both(const Socket& to, std::span<const std::byte> send, const Socket& from, std::uint64_t to_receive,
               const Take& take, Clock::duration timeout) {
    while (!send.empty() || to_receive > 0) {
        pollfd entries[2] = {{to.get(), POLLOUT, 0}, {from.get(), POLLIN, 0}};
        if (send.empty()) entries[0].fd = -1;  // ignored
        if (to_receive == 0) entries[1].fd = -1;
        const int count =
            poll(entries, 2, static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()));
        if (count == 0) fail("another rank did not answer in time");
        if (count < 0 && errno != EINTR) fail(std::string("waiting for another rank: ") + std::strerror(errno));
        if (entries[1].revents != 0) to_receive -= take(to_receive);
        if (entries[0].revents != 0) send = send.subspan(send_some(to, send.data(), send.size()));
    }
}

template <class T>
T combined(T one, T two, Reduction reduction) {
    const float a = to_float(one), b = to_float(two);
    return from_float<T>(reduction == Reduction::sum ? a + b : std::max(a, b));
}

/// Receives elements and combines each with one of `with` into `out`, which may be the same.
template <class T>
class Combine {
public:
    Combine(const Socket& from, const T* with, T* out, Reduction reduction)
        : from_(from), with_(with), out_(out), reduction_(reduction), piece_(piece_bytes / sizeof(T)) {}

    std::size_t operator()(std::uint64_t left) {
        auto* const memory = reinterpret_cast<std::byte*>(piece_.data());
        const std::size_t room = std::min<std::uint64_t>(piece_bytes - held_, left);
        const std::size_t got = receive_some(from_, memory + held_, room);
        held_ += got;
        const std::size_t whole = held_ / sizeof(T);
        for (std::size_t i = 0; i < whole; ++i) out_[i] = combined(piece_[i], with_[i], reduction_);
        with_ += whole;
        out_ += whole;
        held_ -= whole * sizeof(T);
        std::memmove(memory, memory + whole * sizeof(T), held_);
        return got;
    }

private:
    const Socket& from_;
    const T* with_;
    T* out_;
    Reduction reduction_;
    std::vector<T> piece_;
    std::size_t held_ = 0;  ///< bytes of an element that is not whole yet
};

}  // namespace

std::vector<std::uint64_t> even_parts(std::uint64_t elements, std::uint32_t ranks) {
    std::vector<std::uint64_t> bounds;
    for (std::uint64_t p = 0; p <= ranks; ++p) bounds.push_back(elements / ranks * p + std::min(p, elements % ranks));
    return bounds;
}

void begin_together(const Ring& ring) {
    const std::byte here{1};
    std::byte there{};
    const Clock::time_point deadline = Clock::now() + ring.timeout;
    send(*ring.previous, &here, 1, deadline);
    receive(*ring.next, &there, 1, deadline);
}

void exchange(const Socket& to, const void* send, std::uint64_t send_bytes, const Socket& from, void* receive,
              std::uint64_t receive_bytes, Clock::duration timeout) {
    auto* at = static_cast<std::byte*>(receive);
    const auto take = [&](std::uint64_t left) {
        const std::size_t got = receive_some(from, at, left);
        at += got;
        return got;
    };
    move_both(to, {static_cast<const std::byte*>(send), send_bytes}, from, receive_bytes, take, timeout);
}

template <class T>
void reduce_scatter(const Ring& ring, const T* send, T* out, const std::vector<std::uint64_t>& bounds,
                    Reduction reduction) {
    const std::uint32_t n = ring.ranks;
    const auto size = [&](std::uint32_t part) { return bounds[part + 1] - bounds[part]; };
    std::uint32_t part = (ring.rank + n - 1) % n;
    const T* outgoing = send + bounds[part];
    std::vector<T> sums, arriving;
    for (std::uint32_t step = 0; step + 1 < n; ++step) {
        const std::uint32_t next = (part + n - 1) % n;
        const bool last = step + 2 == n;  // then `next` is this rank's own part
        if (!last) arriving.resize(size(next));
        Combine<T> combine(*ring.previous, send + bounds[next], last ? out : arriving.data(), reduction);
        move_both(*ring.next, std::as_bytes(std::span(outgoing, size(part))), *ring.previous, size(next) * sizeof(T),
                  std::ref(combine), ring.timeout);
        std::swap(sums, arriving);
        outgoing = sums.data();
        part = next;
    }
}

template void reduce_scatter(const Ring&, const float*, float*, const std::vector<std::uint64_t>&, Reduction);
template void reduce_scatter(const Ring&, const Bfloat16*, Bfloat16*, const std::vector<std::uint64_t>&, Reduction);
template void reduce_scatter(const Ring&, const Float16*, Float16*, const std::vector<std::uint64_t>&, Reduction);

void all_gather(const Ring& ring, std::byte* vector, const std::vector<std::uint64_t>& bounds) {
    const std::uint32_t n = ring.ranks;
    std::uint32_t part = ring.rank;
    for (std::uint32_t step = 0; step + 1 < n; ++step) {
        const std::uint32_t next = (part + n - 1) % n;
        exchange(*ring.next, vector + bounds[part], bounds[part + 1] - bounds[part], *ring.previous,
                 vector + bounds[next], bounds[next + 1] - bounds[next], ring.timeout);
        part = next;
    }
}

void broadcast(const Ring& ring, std::byte* vector, std::uint64_t bytes) {
    const Clock::time_point deadline = Clock::now() + ring.timeout;
    for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
        const std::size_t piece = std::min<std::uint64_t>(piece_bytes, bytes - at);
        if (ring.rank != 0) receive(*ring.previous, vector + at, piece, deadline);
        if (ring.rank + 1 != ring.ranks) send(*ring.next, vector + at, piece, deadline);
    }
}

}  // namespace orrery::kernels::tcp
