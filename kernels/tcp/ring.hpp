// Collectives as rings of messages, the bandwidth-optimal ones (Patarasu and Yuan, 2009): in every step a rank sends
// one part of the vector to the next rank and receives another from the rank before.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/communicator.hpp"
#include "kernels/tcp/socket.hpp"

namespace orrery::kernels::tcp {

struct Ring {
    std::uint32_t rank = 0, ranks = 1;
    const Socket* next = nullptr;      ///< to rank + 1
    const Socket* previous = nullptr;  ///< from rank - 1; with two ranks the same connection
    Clock::duration timeout{};
};

/// Element ranges of the parts: part p is [bounds[p], bounds[p + 1]). As even as whole elements allow.
std::vector<std::uint64_t> even_parts(std::uint64_t elements, std::uint32_t ranks);

/// Nobody begins before the next rank is there: a part that arrives early would wait in the connection's buffers and
/// make the collective look faster than the wire.
void begin_together(const Ring& ring);

/// out: this rank's part of the sum (or maximum) of all ranks' vectors; may lie at its place in `send`, which else
/// stays as it is. ranks - 1 steps, after each of which a sum is rounded to T: float, Bfloat16 or Float16.
template <class T>
void reduce_scatter(const Ring& ring, const T* send, T* out, const std::vector<std::uint64_t>& bounds,
                    Reduction reduction);
/// Every rank's part of `vector` (bytes from bounds[p] to bounds[p + 1]) on every rank. ranks - 1 steps.
void all_gather(const Ring& ring, std::byte* vector, const std::vector<std::uint64_t>& bounds);
/// Rank 0's vector on every rank: passed on along the ring while it arrives.
void broadcast(const Ring& ring, std::byte* vector, std::uint64_t bytes);
/// Both at once.
void exchange(const Socket& to, const void* send, std::uint64_t send_bytes, const Socket& from, void* receive,
              std::uint64_t receive_bytes, Clock::duration timeout);

}  // namespace orrery::kernels::tcp
