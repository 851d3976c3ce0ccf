// The index arithmetic of the GPU's attention, held against the instructions as PTX describes them, on the host.
#include "kernels/cuda/attention_fragment.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace orrery::kernels::cuda {
namespace {

constexpr int lanes = 32;
using Half = std::uint16_t;  ///< any format of 16 bits
/// Elements of T in a register.
template <class T>
constexpr int in_register = 4 / static_cast<int>(sizeof(T));
/// Four registers of each lane, one or two elements in each.
using Registers = std::array<std::array<std::array<float, 2>, 4>, lanes>;
using Results = std::array<std::array<float, 4>, lanes>;

/// Row-major numbers with a pitch, as a tile in shared memory.
struct Tile {
    int pitch;
    std::vector<float> values;

    Tile(int rows, int cols, std::uint64_t seed)
        : pitch(tile_pitch<Half>(cols)), values(static_cast<std::size_t>(rows * pitch)) {
        std::mt19937_64 random(seed);
        for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 17) - 8);
    }
    [[nodiscard]] float at(int row, int col) const { return values[static_cast<std::size_t>(row * pitch + col)]; }
};

/// PTX ISA, ldmatrix: lane 8 i + r names row r of matrix i; lane l receives of matrix i the 4 bytes l % 4 of row l / 4,
/// or with .trans, of 16-bit elements, those of column l / 4.
template <class T, class Address>
Registers ldmatrix(const Tile& tile, bool transposed, Address address) {
    Registers registers{};
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < 4; ++i)
            for (int e = 0; e < in_register<T>; ++e) {
                const int along = in_register<T> * (l % 4) + e, across = l / 4;
                const Place16 row = address(8 * i + (transposed ? along : across));
                registers[l][i][e] = tile.at(row.row, row.col + (transposed ? across : along));
            }
    return registers;
}

/// PTX ISA, mma.m16n8k16 of 16-bit operands and mma.m16n8k8 of tf32: c += a b.
template <class T>
void mma(Results& c, const Registers& a, const Registers& b, int first) {
    std::array<std::array<float, 16>, 16> left{};
    std::array<std::array<float, 8>, 16> right{};
    for (int l = 0; l < lanes; ++l)
        for (int e = 0; e < in_register<T>; ++e) {
            const int g = l / 4, t = in_register<T> * (l % 4) + e;
            for (int i = 0; i < 4; ++i) left[g + 8 * (i % 2)][t + matrix_columns<T> * (i / 2)] = a[l][i][e];
            for (int i = 0; i < 2; ++i) right[t + matrix_columns<T> * i][g] = b[l][first + i][e];
        }
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < 4; ++i) {
            const int row = l / 4 + 8 * (i / 2), col = 2 * (l % 4) + i % 2;
            for (int k = 0; k < product_depth<T>; ++k) c[l][i] += left[row][k] * right[k][col];
        }
}

/// Two results side by side are A times what `right` gives: the element of B [depth, 16] at a row and a column.
template <class Right>
void expect_product(const std::array<Results, 2>& c, const Tile& a, int depth, const Right& right) {
    for (int tile = 0; tile < 2; ++tile)
        for (int l = 0; l < lanes; ++l)
            for (int i = 0; i < 4; ++i) {
                const Place16 at = result_at(l, i);
                float expected = 0;
                for (int k = 0; k < depth; ++k) expected += a.at(at.row, k) * right(k, 8 * tile + at.col);
                EXPECT_EQ(c[tile][l][i], expected) << "lane " << l << ", element " << i << ", tile " << tile;
            }
}

template <class T>
void expect_rows_by_rows() {
    const Tile a(16, 64, 1), b(16, 64, 2);
    std::array<Results, 2> c{};
    for (int k = 0; k < 64; k += product_depth<T>) {
        const auto shifted = [&](auto place) {
            return [=](int lane) {
                Place16 at = place(lane);
                at.col += k;
                return at;
            };
        };
        const Registers left = ldmatrix<T>(a, false, shifted(left_row<T>));
        const Registers right = ldmatrix<T>(b, false, shifted(right_row_by_column<T>));
        mma<T>(c[0], left, right, 0);
        mma<T>(c[1], left, right, 2);
    }
    expect_product(c, a, 64, [&](int k, int col) { return b.at(col, k); });
}

TEST(AttentionFragment, RowsTimesRowsIsAProductWithTheTranspose) {
    expect_rows_by_rows<Half>();
    expect_rows_by_rows<float>();
}

TEST(AttentionFragment, ResultsBecomeTheLeftOperandOfTheNextProduct) {
    // P [16, 16] lies in two results side by side; packed as attention_tile.cuh packs it, it multiplies B [16, 16].
    const Tile p(16, 16, 3), b(16, 16, 4);
    Registers left{};
    for (int l = 0; l < lanes; ++l)
        for (int e = 0; e < 2; ++e)
            for (int half = 0; half < 2; ++half)
                for (int tile = 0; tile < 2; ++tile) {
                    const Place16 at = result_at(l, 2 * half + e);
                    left[l][2 * tile + half][e] = p.at(at.row, 8 * tile + at.col);
                }
    const Registers right = ldmatrix<Half>(b, true, right_row_by_depth);
    std::array<Results, 2> c{};
    mma<Half>(c[0], left, right, 0);
    mma<Half>(c[1], left, right, 2);
    expect_product(c, p, 16, [&](int k, int col) { return b.at(k, col); });
}

TEST(AttentionFragment, ResultsBecomeTheLeftOperandInTf32) {
    // P [16, 8] lies in one result; as attention_tile.cuh loads B [8, 16], four elements a lane.
    const Tile p(16, 8, 5), b(8, 16, 6);
    Registers left{}, right{};
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < 4; ++i) {
            const Place16 from = result_at(l, result_of_left(i)), at = right_single(l);
            left[l][i][0] = p.at(from.row, from.col);
            right[l][i][0] = b.at(at.row + i % 2, at.col + i / 2 * 8);
        }
    std::array<Results, 2> c{};
    mma<float>(c[0], left, right, 0);
    mma<float>(c[1], left, right, 2);
    expect_product(c, p, 8, [&](int k, int col) { return b.at(k, col); });
}

template <class T>
void expect_different_banks(int head_dim) {
    SCOPED_TRACE(head_dim);
    const int words = tile_pitch<T>(head_dim) / in_register<T>;
    std::set<int> banks;
    EXPECT_EQ(words % 4, 0) << "rows begin at multiples of 16 bytes";
    for (int row = 0; row < 8; ++row)
        for (int word = 0; word < 4; ++word) banks.insert((row * words + word) % 32);
    EXPECT_EQ(banks.size(), 32u);
}

TEST(AttentionFragment, TheRowsOfAMatrixLieInDifferentBanks) {
    for (const int head_dim : {64, 80, 96, 128}) {
        expect_different_banks<Half>(head_dim);
        expect_different_banks<float>(head_dim);
    }
}

TEST(AttentionFragment, SingleElementsLieInDifferentBanks) {
    for (const int head_dim : {64, 80, 96, 128}) {
        std::set<int> banks;
        for (int l = 0; l < lanes; ++l)
            banks.insert((right_single(l).row * tile_pitch<float>(head_dim) + right_single(l).col) % 32);
        EXPECT_EQ(banks.size(), 32u) << head_dim;
    }
}

TEST(AttentionFragment, ResultsCoverTheirTileOnce) {
    std::set<std::pair<int, int>> places;
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < 4; ++i) places.insert({result_at(l, i).row, result_at(l, i).col});
    EXPECT_EQ(places.size(), 128u);
    EXPECT_EQ(*places.rbegin(), std::make_pair(15, 7));
}

}  // namespace
}  // namespace orrery::kernels::cuda
