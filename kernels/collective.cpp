#include "kernels/collective.hpp"

#include <array>
#include <string>

#include "base/error.hpp"

namespace orrery::kernels {

namespace {
constexpr std::array<std::string_view, collective_kinds> names{"all_reduce", "all_gather", "reduce_scatter",
                                                               "all_to_all", "broadcast",  "send_recv"};
}

std::string_view name(CollectiveKind kind) { return names[static_cast<std::size_t>(kind)]; }

CollectiveKind collective_from(std::string_view text) {
    if (text == "alltoall") return CollectiveKind::all_to_all;
    if (text == "sendrecv") return CollectiveKind::send_recv;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return static_cast<CollectiveKind>(i);
    throw Error("unknown collective \"" + std::string(text) + "\"",
                "one of all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv");
}

double bus_factor(CollectiveKind kind, std::uint32_t ranks) {
    if (ranks <= 1) return 0.0;
    const double n = ranks;
    switch (kind) {
        case CollectiveKind::all_reduce: return 2.0 * (n - 1.0) / n;
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_to_all: return (n - 1.0) / n;
        case CollectiveKind::broadcast:
        case CollectiveKind::send_recv: return 1.0;
    }
    return 0.0;
}

}  // namespace orrery::kernels
