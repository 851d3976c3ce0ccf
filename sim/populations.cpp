#include "sim/populations.hpp"

#include <algorithm>

namespace orrery::sim {

std::vector<Population> populations(const strategies::StepProgram& step, const strategies::RankPlacement& placement,
                                    const Kinds& kinds) {
    const auto all = static_cast<std::uint32_t>(step.role.size());
    const auto kind_of = [&](std::uint32_t rank) { return kinds.size() == 1 ? 0 : kinds.of(placement.gpu(rank)); };
    std::vector<Population> list;
    for (std::uint32_t rank = 0, next = 0; rank < all; rank = next) {
        const std::uint32_t role = step.role[rank], kind = kind_of(rank);
        do ++next;
        while (next < all && step.role[next] == role && kind_of(next) == kind);
        const auto same = [&](const Population& known) { return known.role == role && known.kind == kind; };
        auto place = std::ranges::find_if(list, same);
        if (place == list.end()) place = list.insert(place, {role, kind, rank, 0});
        place->ranks += next - rank;
    }
    return list;
}

}  // namespace orrery::sim
