// The index arithmetic of the GPU's attention, held against the instructions as PTX describes them, on the host.
#include "kernels/cuda/attention_fragment.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <vector>

namespace orrery::kernels::cuda {
namespace {

constexpr int lanes = 32;
/// A register of two elements, four of them, for each lane.
using Registers = std::array<std::array<std::array<float, 2>, 4>, lanes>;
using Results = std::array<std::array<float, 4>, lanes>;

/// Row-major numbers with a pitch, as a tile in shared memory.
struct Tile {
    int pitch;
    std::vector<float> values;

    Tile(int rows, int cols, std::uint64_t seed)
        : pitch(tile_pitch(cols)), values(static_cast<std::size_t>(rows * pitch)) {
        std::mt19937_64 random(seed);
        for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 17) - 8);
    }
    [[nodiscard]] float at(int row, int col) const { return values[static_cast<std::size_t>(row * pitch + col)]; }
};

/// PTX ISA, ldmatrix: lane 8 i + r names row r of matrix i; lane l receives of matrix i the elements 2 (l % 4) and
/// 2 (l % 4) + 1 of row l / 4, or with .trans those of column l / 4.
template <class Address>
Registers ldmatrix(const Tile& tile, bool transposed, Address address) {
    Registers registers{};
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < 4; ++i)
            for (int e = 0; e < 2; ++e) {
                const int along = 2 * (l % 4) + e, across = l / 4;
                const Place16 row = address(8 * i + (transposed ? along : across));
                registers[l][i][e] = tile.at(row.row, row.col + (transposed ? across : along));
            }
    return registers;
}

/// PTX ISA, mma.m16n8k16: c += a b with the fragments of 16-bit operands.
void mma(Results& c, const Registers& a, const Registers& b, int first) {
    std::array<std::array<float, 16>, 16> left{};
    std::array<std::array<float, 8>, 16> right{};
    for (int l = 0; l < lanes; ++l)
        for (int e = 0; e < 2; ++e) {
            const int g = l / 4, t = 2 * (l % 4) + e;
            for (int i = 0; i < 4; ++i) left[g + 8 * (i % 2)][t + 8 * (i / 2)] = a[l][i][e];
            for (int i = 0; i < 2; ++i) right[t + 8 * i][g] = b[l][first + i][e];
        }
    for (int l = 0; l < lanes; ++l)
        for (int i = 0; i < 4; ++i) {
            const int row = l / 4 + 8 * (i / 2), col = 2 * (l % 4) + i % 2;
            for (int k = 0; k < 16; ++k) c[l][i] += left[row][k] * right[k][col];
        }
}

TEST(AttentionFragment, RowsTimesRowsIsAProductWithTheTranspose) {
    const Tile a(16, 64, 1), b(16, 64, 2);
    std::array<Results, 2> c{};
    for (int k = 0; k < 64; k += 16) {
        const auto shifted = [&](auto place) {
            return [=](int lane) {
                Place16 at = place(lane);
                at.col += k;
                return at;
            };
        };
        const Registers left = ldmatrix(a, false, shifted(left_row));
        const Registers right = ldmatrix(b, false, shifted(right_row_by_column));
        mma(c[0], left, right, 0);
        mma(c[1], left, right, 2);
    }
    for (int tile = 0; tile < 2; ++tile)
        for (int l = 0; l < lanes; ++l)
            for (int i = 0; i < 4; ++i) {
                const Place16 at = result_at(l, i);
                float expected = 0;
                for (int k = 0; k < 64; ++k) expected += a.at(at.row, k) * b.at(8 * tile + at.col, k);
                EXPECT_EQ(c[tile][l][i], expected) << "lane " << l << ", element " << i << ", tile " << tile;
            }
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
    const Registers right = ldmatrix(b, true, right_row_by_depth);
    std::array<Results, 2> c{};
    mma(c[0], left, right, 0);
    mma(c[1], left, right, 2);
    for (int tile = 0; tile < 2; ++tile)
        for (int l = 0; l < lanes; ++l)
            for (int i = 0; i < 4; ++i) {
                const Place16 at = result_at(l, i);
                float expected = 0;
                for (int k = 0; k < 16; ++k) expected += p.at(at.row, k) * b.at(k, 8 * tile + at.col);
                EXPECT_EQ(c[tile][l][i], expected) << "lane " << l << ", element " << i << ", tile " << tile;
            }
}

TEST(AttentionFragment, TheRowsOfAMatrixLieInDifferentBanks) {
    for (const int head_dim : {64, 80, 96, 128}) {
        SCOPED_TRACE(head_dim);
        std::set<int> banks;
        for (int row = 0; row < 8; ++row) {
            EXPECT_EQ(tile_pitch(head_dim) * 2 % 16, 0) << "rows begin at multiples of 16 bytes";
            for (int word = 0; word < 4; ++word) banks.insert((row * tile_pitch(head_dim) / 2 + word) % 32);
        }
        EXPECT_EQ(banks.size(), 32u);
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
