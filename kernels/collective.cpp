#include "kernels/collective.hpp"

#include <string>

#include "base/enum_table.hpp"
#include "base/error.hpp"

namespace orrery::kernels {

namespace {
constexpr EnumNames<CollectiveKind> names{"all_reduce", "all_gather", "reduce_scatter",
                                          "all_to_all", "broadcast",  "send_recv"};
static_assert(collective_kinds == names.size());
}  // namespace

std::string_view name(CollectiveKind kind) { return names[kind]; }

CollectiveKind collective_from(std::string_view text) {
    if (text == "alltoall") return CollectiveKind::all_to_all;
    if (text == "sendrecv") return CollectiveKind::send_recv;
    if (const auto found = names.find(text)) return *found;
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
