// Ranks as points of a mesh.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace orrery::strategies {

/// From the fastest-varying to the slowest, as Megatron-LM numbers its ranks. Tensor ranks lie along `tensor`, or where
/// they are a grid along tensor_row, tensor_column and tensor_depth (tensor_grid.hpp). Context ranks lie along
/// `context`; along context_inner neighbours of them lie that do something among themselves: exchange heads, so that
/// their groups form the ring, or divide the experts.
/// Data ranks lie along expert, data and replica: those that share states along the first two, along the third copies
/// of such groups, or ZeRO++'s nodes.
///
/// opposite: no axis of its own, but two ranks along `pipeline` that stand opposite each other, s and p - 1 - s of an
/// even number p: stages of pipelines in two directions that hold the same layers. Beside `pipeline` it adds nothing.
enum class Axis : std::uint8_t {
    tensor,
    tensor_row,
    tensor_column,
    tensor_depth,
    context_inner,
    context,
    expert,
    data,
    replica,
    pipeline,
    opposite
};
inline constexpr std::size_t axes = 10;  ///< that a mesh extends along
inline constexpr std::array all_axes{Axis::tensor,        Axis::tensor_row, Axis::tensor_column, Axis::tensor_depth,
                                     Axis::context_inner, Axis::context,    Axis::expert,        Axis::data,
                                     Axis::replica,       Axis::pipeline,   Axis::opposite};
static_assert(all_axes.size() == axes + 1);
inline constexpr std::span own_axes = std::span(all_axes).first<axes>();

/// A set of axes: the ranks that differ only along them form a group.
class AxisSet {
public:
    using Bits = std::uint16_t;
    constexpr AxisSet() = default;
    constexpr AxisSet(std::initializer_list<Axis> list) {
        for (const Axis axis : list) bits_ = static_cast<Bits>(bits_ | (1U << static_cast<unsigned>(axis)));
    }
    [[nodiscard]] constexpr bool has(Axis axis) const { return ((bits_ >> static_cast<unsigned>(axis)) & 1U) != 0; }
    [[nodiscard]] constexpr Bits bits() const { return bits_; }
    /// The set without one axis.
    [[nodiscard]] constexpr AxisSet without(Axis axis) const {
        AxisSet rest = *this;
        rest.bits_ = static_cast<Bits>(bits_ & ~(1U << static_cast<unsigned>(axis)));
        return rest;
    }
    constexpr AxisSet operator|(AxisSet other) const {
        other.bits_ = static_cast<Bits>(other.bits_ | bits_);
        return other;
    }
    /// The set without those of another.
    constexpr AxisSet operator-(AxisSet other) const {
        other.bits_ = static_cast<Bits>(bits_ & ~other.bits_);
        return other;
    }
    constexpr bool operator==(const AxisSet&) const = default;

private:
    Bits bits_ = 0;
};

struct Mesh {
    std::array<std::uint32_t, axes> extent{1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

    [[nodiscard]] std::uint32_t along(Axis axis) const {
        if (axis != Axis::opposite) return extent[static_cast<std::size_t>(axis)];
        return along(Axis::pipeline) > 1 ? 2 : 1;
    }
    [[nodiscard]] std::uint32_t ranks() const;
    /// Number of ranks of one group.
    [[nodiscard]] std::uint32_t group_size(AxisSet set) const;
    [[nodiscard]] std::uint32_t coordinate(std::uint32_t rank, Axis axis) const;
    /// Which of the data ranks it is: those of one expert group follow each other.
    [[nodiscard]] std::uint32_t data_rank(std::uint32_t rank) const;
    /// The ranks of the group that holds `rank`, ascending.
    [[nodiscard]] std::vector<std::uint32_t> group(std::uint32_t rank, AxisSet set) const;
    /// Whether `rank` is the first of its group.
    [[nodiscard]] bool leads(std::uint32_t rank, AxisSet set) const;
    /// The rank `delta` steps along an axis of the mesh's own, wrapping around.
    [[nodiscard]] std::uint32_t peer(std::uint32_t rank, Axis axis, std::int32_t delta) const;
};

/// "tensor", ...; "tensor+pipeline" for a set.
std::string to_text(Axis axis);
std::string to_text(AxisSet set);

}  // namespace orrery::strategies
