// Where the elements of a matrix lie in the registers of a warp, for the tensor core's products of 16 x 8 x 16 in 16
// bits and of 16 x 8 x 8 in tf32 (PTX ISA, "Matrix Fragments for mma.m16n8k16" and "m16n8k8"), and for ldmatrix, which
// fills them from shared memory. Either takes 32 bytes of a row in depth.
//
// With g = lane / 4 and t = lane % 4, a thread holds, two elements of 16 bits in a register:
//   A [16 rows, 16 deep]   a0 (g, 2t) (g, 2t+1)   a1 (g+8, 2t ..)   a2 (g, 2t+8 ..)   a3 (g+8, 2t+8 ..)
//   B [16 deep, 8 columns] b0 (2t, g) (2t+1, g)   b1 (2t+8, g) (2t+9, g)
// one of tf32:
//   A [16 rows, 8 deep]    a0 (g, t)   a1 (g+8, t)   a2 (g, t+4)   a3 (g+8, t+4)
//   B [8 deep, 8 columns]  b0 (t, g)   b1 (t+4, g)
// and of either's result:
//   C [16 rows, 8 columns] in fp32: c0 (g, 2t)  c1 (g, 2t+1)  c2 (g+8, 2t)  c3 (g+8, 2t+1)
//
// ldmatrix.x4 reads four matrices of eight rows of 16 bytes. Lane l gives the address of row l % 8 of matrix l / 8, and
// receives of each matrix the 4 bytes t of row g: elements (g, 2t) and (g, 2t+1) of 16 bits, or (g, t) of tf32. With
// .trans it receives the elements of 16 bits (g, 2t) and (g, 2t+1) of the transpose; nothing transposes tf32.
//
// The result of one product is the left operand of the next without leaving the registers. In 16 bits two C tiles side
// by side have the layout of one A: their 16 columns become its depth. In tf32 one C tile becomes one A whose depth is
// in another order, c0 c2 c1 c3: what A calls depth t is column 2t of C, and t + 4 is 2t + 1. A sum has any order, so B
// takes its rows in the same one.
#pragma once

namespace orrery::kernels::cuda {

/// A row and a column within a tile.
struct Place16 {
    int row, col;
    bool operator==(const Place16&) const = default;
};

/// Elements of T in 16 bytes: of a row that ldmatrix reads. T: of 16 bits, or float for tf32.
template <class T>
inline constexpr int matrix_columns = 16 / static_cast<int>(sizeof(T));
/// Depth of one product.
template <class T>
inline constexpr int product_depth = 2 * matrix_columns<T>;

/// A from rows in memory [16, depth]: matrices of rows 0-7, of rows 8-15, and behind them in depth the same, are
/// a0 .. a3.
template <class T>
constexpr Place16 left_row(int lane) {
    return {lane % 16, lane / 16 * matrix_columns<T>};
}

/// Two B side by side, from memory that holds their columns as rows [16 columns, depth]: the matrices are b0 and b1 of
/// the first, then of the second.
template <class T>
constexpr Place16 right_row_by_column(int lane) {
    return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * matrix_columns<T>};
}

/// Two B of 16 bits side by side, from memory that holds them as they are [16 deep, 16 columns], read with .trans.
constexpr Place16 right_row_by_depth(int lane) { return {lane % 16, lane / 16 * 8}; }

/// b0 of tf32 in memory [8 deep, 8 columns], for the left operand that a result became; b1 lies in the next row.
constexpr Place16 right_single(int lane) { return {lane % 4 * 2, lane / 4}; }

/// Which element of C is element i of the A that it becomes in tf32.
constexpr int result_of_left(int i) { return i % 2 * 2 + i / 2; }

/// Where element i of C lies.
constexpr Place16 result_at(int lane, int i) { return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2}; }

/// Elements from one row of a tile in shared memory to the next. The 16 bytes of padding shift each row by four banks
/// (in 16 bits 20 of 32 for 96 columns, 12 for 80; in tf32 20 for 80), so that the eight rows of a matrix lie in
/// different banks, and so do a warp's elements right_single.
template <class T>
constexpr int tile_pitch(int head_dim) {
    return head_dim + matrix_columns<T>;
}

}  // namespace orrery::kernels::cuda
