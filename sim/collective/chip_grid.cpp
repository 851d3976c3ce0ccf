#include "sim/collective/chip_grid.hpp"

#include <algorithm>
#include <vector>

namespace orrery::sim {

Grid grid_of(const topology::Cluster& cluster, std::span<const topology::GpuId> gpus) {
    const topology::Fabric& fabric = cluster.fabric();
    if (!fabric.parts().on_chip) return {};
    const Grid whole = fabric.grid();
    if (whole.empty() || gpus.size() < 2) return {};
    std::uint64_t chips = 1;
    for (const std::uint32_t extent : whole) chips *= extent;
    if (gpus.front() / chips != gpus.back() / chips) return {};
    std::vector<std::vector<bool>> taken;  // by dimension, the places that some chip has
    for (const std::uint32_t extent : whole) taken.emplace_back(extent, false);
    for (topology::GpuId gpu : gpus)
        for (std::size_t d = 0; d < whole.size(); gpu /= whole[d++]) taken[d][gpu % whole[d]] = true;
    Grid grid;
    std::uint64_t cells = 1;
    for (const std::vector<bool>& places : taken) {
        const auto extent = static_cast<std::uint32_t>(std::ranges::count(places, true));
        cells *= extent;
        if (extent > 1) grid.push_back(extent);
    }
    return cells == gpus.size() ? grid : Grid{};
}

}  // namespace orrery::sim
