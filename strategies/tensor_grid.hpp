// Tensor ranks that divide matrices both ways: a grid of them.
//
// 2d (Optimus, Xu et al. 2021, arXiv:2104.05343): q x q ranks hold a block of every matrix each, of activations the
// q-th part of the tokens and of the widths; products are SUMMA's (van de Geijn and Watts 1997). 2.5d (Tesseract, Wang
// et al. 2021, arXiv:2105.14500): d such squares, among which tokens are divided once more; each holds all weights. 3d
// (Bian et al. 2021, arXiv:2105.14450): l x l x l ranks, activations in l^2 parts of the tokens and l of the widths,
// weights in l^3 parts.
#pragma once

#include <cstdint>

#include "base/enum_table.hpp"
#include "strategies/mesh.hpp"

namespace orrery::strategies {

/// How tensor ranks divide matrices: Colossal-AI's modes. one_d: by one width each (Shoeybi et al. 2019).
enum class TensorMode : std::uint8_t { one_d, two_d, two_and_half_d, three_d };
inline constexpr EnumNames<TensorMode> tensor_mode_names{"1d", "2d", "2.5d", "3d"};

/// Ranks along a row of the grid hold the same tokens and other columns of widths, those along a column other tokens.
/// The row varies fastest, as in Colossal-AI.
struct TensorGrid {
    TensorMode mode = TensorMode::one_d;
    std::uint32_t row = 1, column = 1, depth = 1;  ///< ranks along each

    /// Whether it is one: with one rank there is nothing to divide, and 1d needs no grid.
    [[nodiscard]] constexpr bool divides() const { return row > 1 || column > 1 || depth > 1; }
    [[nodiscard]] constexpr bool cube() const { return mode == TensorMode::three_d && divides(); }
    /// Parts of a micro-batch's tokens, and of widths.
    [[nodiscard]] constexpr std::uint32_t token_parts() const { return column * depth; }
    [[nodiscard]] constexpr std::uint32_t width_parts() const { return row; }
    /// Ranks that hold the same weights, and see other tokens.
    [[nodiscard]] constexpr std::uint32_t copies() const { return mode == TensorMode::two_and_half_d ? depth : 1; }
    /// Axes along which the logits' words are divided: where a product leaves its columns.
    [[nodiscard]] constexpr AxisSet words() const {
        if (!divides()) return {Axis::tensor};
        return cube() ? AxisSet{Axis::tensor_column} : AxisSet{Axis::tensor_row};
    }
    bool operator==(const TensorGrid&) const = default;
};

/// Of `ranks` tensor ranks. Where they are no square, no `depth` squares and no cube (check_tensor_grid() refuses it)
/// the largest that they hold.
TensorGrid grid_of(TensorMode mode, std::uint32_t ranks, std::uint32_t depth);

}  // namespace orrery::strategies
