#include "sim/collective/chip_grid.hpp"

#include <algorithm>
#include <vector>

namespace orrery::sim {

using topology::GpuId;

namespace {

/// The chips of the first slice, where every other one that has any has those in the same places; none otherwise.
std::span<const GpuId> alike(std::span<const GpuId> gpus, std::uint64_t chips) {
    const auto outside = std::ranges::find_if(gpus, [&](GpuId gpu) { return gpu / chips != gpus.front() / chips; });
    const std::span<const GpuId> slice(gpus.begin(), outside);
    if (gpus.size() % slice.size() != 0) return {};
    for (std::size_t i = slice.size(); i < gpus.size(); ++i) {
        const GpuId first = gpus[i - i % slice.size()];
        if (gpus[i] % chips != slice[i % slice.size()] % chips || gpus[i] / chips != first / chips) return {};
    }
    return slice;
}

}  // namespace

Grid grid_of(const topology::Cluster& cluster, std::span<const GpuId> gpus) {
    const topology::Fabric& fabric = cluster.fabric();
    if (!fabric.parts().on_chip) return {};
    const std::vector<std::uint32_t> whole = fabric.grid();
    if (whole.empty() || gpus.size() < 2) return {};
    std::uint64_t chips = 1;
    for (const std::uint32_t extent : whole) chips *= extent;
    const std::span<const GpuId> slice = alike(gpus, chips);
    if (slice.size() < 2) return {};
    std::vector<std::vector<bool>> taken;  // by dimension, the places that some chip has
    for (const std::uint32_t extent : whole) taken.emplace_back(extent, false);
    for (GpuId gpu : slice)
        for (std::size_t d = 0; d < whole.size(); gpu /= whole[d++]) taken[d][gpu % whole[d]] = true;
    Grid grid{.slices = static_cast<std::uint32_t>(gpus.size() / slice.size())};
    std::uint64_t cells = 1;
    for (const std::vector<bool>& places : taken) {
        const auto extent = static_cast<std::uint32_t>(std::ranges::count(places, true));
        cells *= extent;
        if (extent > 1) grid.extents.push_back(extent);
    }
    return cells == slice.size() ? grid : Grid{};
}

}  // namespace orrery::sim
