#include "kernels/communicator.hpp"

namespace orrery::kernels {

namespace {

/// Share of the whole vector that one rank holds: 1 / ranks of a scattered one.
std::uint64_t part(bool scattered, std::uint64_t bytes, std::uint32_t ranks) {
    return scattered ? bytes / ranks : bytes;
}

}  // namespace

std::uint64_t send_bytes(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks) {
    return part(kind == CollectiveKind::all_gather, bytes, ranks);
}

std::uint64_t receive_bytes(CollectiveKind kind, std::uint64_t bytes, std::uint32_t ranks) {
    return part(kind == CollectiveKind::reduce_scatter, bytes, ranks);
}

}  // namespace orrery::kernels
