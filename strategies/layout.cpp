#include "strategies/layout.hpp"

#include <stdexcept>

namespace orrery::strategies {

std::optional<kernels::CollectiveKind> conversion(Placement from, Placement to) {
    using kernels::CollectiveKind;
    if (from == to || from == Placement::replicated) return std::nullopt;
    if (to == Placement::partial) throw std::logic_error("no operator takes a partial sum");
    if (from == Placement::partial)
        return to == Placement::replicated ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
    return to == Placement::replicated ? CollectiveKind::all_gather : CollectiveKind::all_to_all;
}

}  // namespace orrery::strategies
