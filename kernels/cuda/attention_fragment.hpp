// Where the elements of a matrix lie in the registers of a warp, for the tensor core's 16 x 8 x 16 product
// (PTX ISA, "Matrix Fragments for mma.m16n8k16") and for ldmatrix, which fills them from shared memory.
//
// With g = lane / 4 and t = lane % 4, a thread holds, two elements of 16 bits in a register:
//   A [16 rows, 16 deep]   a0 (g, 2t) (g, 2t+1)   a1 (g+8, 2t ..)   a2 (g, 2t+8 ..)   a3 (g+8, 2t+8 ..)
//   B [16 deep, 8 columns] b0 (2t, g) (2t+1, g)   b1 (2t+8, g) (2t+9, g)
//   C [16 rows, 8 columns] in fp32: c0 (g, 2t)  c1 (g, 2t+1)  c2 (g+8, 2t)  c3 (g+8, 2t+1)
//
// ldmatrix.x4 reads four 8 x 8 matrices of 16-bit elements. Lane l gives the address of row l % 8 of matrix l / 8, and
// receives of each matrix the elements (g, 2t) and (g, 2t+1) in one register; with .trans those of the transpose.
//
// Two C tiles side by side have the layout of one A: their 16 columns become its depth. So the result of one product
// is the left operand of the next without leaving the registers.
#pragma once

namespace orrery::kernels::cuda {

/// A row and a column within a tile.
struct Place16 {
    int row, col;
    bool operator==(const Place16&) const = default;
};

/// A from rows in memory [16, 16]: matrices (rows 0-7, depth 0-7), (8-15, 0-7), (0-7, 8-15), (8-15, 8-15) are a0 .. a3.
constexpr Place16 left_row(int lane) { return {lane % 16, lane / 16 * 8}; }

/// Two B side by side, from memory that holds their columns as rows [16 columns, 16 deep]: the matrices are b0 and b1
/// of the first, then of the second.
constexpr Place16 right_row_by_column(int lane) { return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8}; }

/// Two B side by side, from memory that holds them as they are [16 deep, 16 columns], read with .trans.
constexpr Place16 right_row_by_depth(int lane) { return {lane % 16, lane / 16 * 8}; }

/// Where element i of C lies.
constexpr Place16 result_at(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

/// Elements from one row of a tile in shared memory to the next. The 16 bytes of padding shift each row by four banks
/// (20 of 32 for 96 columns, 12 for 80), so that the eight rows of a matrix lie in different banks.
constexpr int tile_pitch(int head_dim) { return head_dim + 8; }

}  // namespace orrery::kernels::cuda
