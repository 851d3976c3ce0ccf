// The vocabulary of communication, with the conventions of nccl-tests.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::kernels {

enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };
inline constexpr int collective_kinds = 6;

/// What becomes of the numbers that a reducing collective brings together.
enum class Reduction : std::uint8_t { sum, maximum };

std::string_view name(CollectiveKind kind);
/// Accepts nccl-tests' names too ("alltoall", "sendrecv"). Throws Error for an unknown name.
CollectiveKind collective_from(std::string_view name);

/// busbw / algbw of nccl-tests (doc/PERFORMANCE.md): 2(n-1)/n for all_reduce, (n-1)/n for all_gather,
/// reduce_scatter and all_to_all, 1 for broadcast and send_recv. ranks >= 1; 0 for a single rank.
/// A collective's "size" is nccl-tests': the whole vector (all_gather: the gathered result).
double bus_factor(CollectiveKind kind, std::uint32_t ranks);

}  // namespace orrery::kernels
