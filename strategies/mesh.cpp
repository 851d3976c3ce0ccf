#include "strategies/mesh.hpp"

#include <algorithm>
#include <string_view>

#include "base/enum_table.hpp"

namespace orrery::strategies {

namespace {
constexpr EnumNames<Axis> axis_names{"tensor",        "tensor_row", "tensor_column", "tensor_depth",
                                     "context_inner", "context",    "expert",        "data",
                                     "replica",       "pipeline",   "opposite"};
static_assert(all_axes.size() == axis_names.size());

std::uint32_t stride(const Mesh& mesh, std::size_t axis) {
    std::uint32_t product = 1;
    for (std::size_t i = 0; i < axis; ++i) product *= mesh.extent[i];
    return product;
}

/// Whether ranks that stand opposite each other are two of a group, and not of all stages.
bool doubles(const Mesh& mesh, AxisSet set) {
    return set.has(Axis::opposite) && !set.has(Axis::pipeline) && mesh.along(Axis::pipeline) > 1;
}
}  // namespace

std::uint32_t Mesh::ranks() const { return stride(*this, axes); }

std::uint32_t Mesh::group_size(AxisSet set) const {
    std::uint32_t size = doubles(*this, set) ? 2 : 1;
    for (std::size_t i = 0; i < axes; ++i)
        if (set.has(static_cast<Axis>(i))) size *= extent[i];
    return size;
}

std::uint32_t Mesh::coordinate(std::uint32_t rank, Axis axis) const {
    if (axis == Axis::opposite) return 2 * coordinate(rank, Axis::pipeline) < along(Axis::pipeline) ? 0 : 1;
    return rank / stride(*this, static_cast<std::size_t>(axis)) % along(axis);
}

std::uint32_t Mesh::data_rank(std::uint32_t rank) const {
    const std::uint32_t share = coordinate(rank, Axis::replica) * along(Axis::data) + coordinate(rank, Axis::data);
    return share * along(Axis::expert) + coordinate(rank, Axis::expert);
}

std::vector<std::uint32_t> Mesh::group(std::uint32_t rank, AxisSet set) const {
    std::uint32_t first = rank;
    for (std::size_t i = 0; i < axes; ++i)
        if (set.has(static_cast<Axis>(i))) first -= coordinate(rank, static_cast<Axis>(i)) * stride(*this, i);
    std::vector<std::uint32_t> members{first};
    for (std::size_t i = 0; i < axes; ++i) {
        if (!set.has(static_cast<Axis>(i))) continue;
        const std::size_t before = members.size();
        for (std::uint32_t step = 1; step < extent[i]; ++step)
            for (std::size_t m = 0; m < before; ++m) members.push_back(members[m] + step * stride(*this, i));
    }
    if (doubles(*this, set)) {
        const std::uint32_t here = coordinate(first, Axis::pipeline), there = along(Axis::pipeline) - 1 - here;
        const std::uint32_t step = stride(*this, static_cast<std::size_t>(Axis::pipeline));
        const std::uint32_t lower = first - here * step + std::min(here, there) * step;
        for (std::uint32_t& member : members) member += lower - first;
        for (std::size_t m = 0, count = members.size(); m < count; ++m)
            members.push_back(members[m] + (std::max(here, there) - std::min(here, there)) * step);
    }
    return members;  // slower axes are added later, so the list ascends
}

bool Mesh::leads(std::uint32_t rank, AxisSet set) const {
    std::uint32_t rest = rank;  // by the strides of the axes so far
    for (std::size_t i = 0; i < axes; ++i) {
        if (set.has(static_cast<Axis>(i)) && rest % extent[i] != 0) return false;
        rest /= extent[i];
    }
    return !doubles(*this, set) || coordinate(rank, Axis::opposite) == 0;
}

std::uint32_t Mesh::peer(std::uint32_t rank, Axis axis, std::int32_t delta) const {
    const auto size = static_cast<std::int64_t>(along(axis));
    const auto here = static_cast<std::int64_t>(coordinate(rank, axis));
    const std::int64_t there = ((here + delta) % size + size) % size;
    const auto step = static_cast<std::int64_t>(stride(*this, static_cast<std::size_t>(axis)));
    return static_cast<std::uint32_t>(static_cast<std::int64_t>(rank) + (there - here) * step);
}

std::string to_text(Axis axis) { return std::string(axis_names[axis]); }

std::string to_text(AxisSet set) {
    std::string text;
    for (const Axis axis : all_axes) {
        if (!set.has(axis)) continue;
        if (!text.empty()) text += '+';
        text += axis_names[axis];
    }
    return text;
}

}  // namespace orrery::strategies
