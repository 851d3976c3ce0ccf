#include <array>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"

namespace orrery::kernels::cpu {

namespace {

/// Tiles are turned in registers, blocks of tiles stay in the first level of cache.
constexpr std::uint64_t tile = 8, block = 64;

using Vector [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;

/// Eight rows of eight columns; cols and rows: elements to the next row before and after. Three rounds exchange
/// elements, pairs and halves of rows.
[[gnu::always_inline]] inline void turn(const float* x, std::size_t cols, float* y, std::size_t rows) {
    Vector a[tile], b[tile];
    for (std::size_t i = 0; i < tile; ++i) a[i] = *reinterpret_cast<const Vector*>(x + i * cols);
    for (std::size_t i = 0; i < tile; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    for (std::size_t i = 0; i < tile; i += 4)
        for (std::size_t j = 0; j < 2; ++j) {
            a[i + 2 * j] = __builtin_shufflevector(b[i + j], b[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            a[i + 2 * j + 1] = __builtin_shufflevector(b[i + j], b[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (std::size_t i = 0; i < tile / 2; ++i) {
        b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    for (std::size_t i = 0; i < tile; ++i) *reinterpret_cast<Vector*>(y + i * rows) = b[i];
}

/// A block of whole tiles: results are written in lines of two tiles.
ORRERY_CLONED void turn_block(const float* x, std::size_t cols, float* y, std::size_t rows, std::size_t height,
                              std::size_t width) {
    for (std::size_t c = 0; c < width; c += tile)
        for (std::size_t r = 0; r < height; r += tile) turn(x + r * cols + c, cols, y + c * rows + r, rows);
}

void turn_edge(const float* x, std::size_t cols, float* y, std::size_t rows, std::size_t height, std::size_t width) {
    for (std::size_t c = 0; c < width; ++c)
        for (std::size_t r = 0; r < height; ++r) y[c * rows + r] = x[r * cols + c];
}

void turn_any(const float* x, std::size_t cols, float* y, std::size_t rows, std::size_t height, std::size_t width) {
    const std::size_t tall = height / tile * tile, wide = width / tile * tile;
    turn_block(x, cols, y, rows, tall, wide);
    turn_edge(x + wide, cols, y + wide * rows, rows, height, width - wide);
    turn_edge(x + tall * cols, cols, y + tall, rows, height - tall, wide);
}

/// A block of 16-bit elements of any format, turned in fp32, to which they go as bf16 would; x and y: where it begins
/// in both matrices.
void turn_half(const std::uint16_t* x, std::size_t cols, std::uint16_t* y, std::size_t rows, std::size_t height,
               std::size_t width) {
    thread_local std::array<float, block * block> from, to;
    for (std::size_t r = 0; r < height; ++r) load(Format::bf16, x, r * cols, from.data() + r * block, width);
    turn_any(from.data(), block, to.data(), block, height, width);
    for (std::size_t c = 0; c < width; ++c) store(Format::bf16, to.data() + c * block, y, c * rows, height);
}

}  // namespace

/// Threads share the columns, which are rows of the result.
void run_transpose(const Pointwise& p, const Memory& memory) {
    if (memory.settings().heads.columns != 0) return run_head_copies(p, memory);
    const auto at_once = [&](std::uint64_t r, std::uint64_t c, std::uint64_t end) {
        const std::uint64_t height = std::min(block, p.rows - r), width = std::min(block, end - c);
        const std::uint64_t from = r * p.cols + c, to = c * p.rows + r;
        p.dtype == Dtype::fp32 ? turn_any(memory[0] + from, p.cols, memory[1] + to, p.rows, height, width)
                               : turn_half(memory.as<std::uint16_t>(0) + from, p.cols, memory.as<std::uint16_t>(1) + to,
                                           p.rows, height, width);
    };
    const int parts = parts_of(p.cols, least_elements / p.rows + block);
    split(p.cols, parts, tile, [&](int, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = 0; r < p.rows; r += block)
            for (std::uint64_t c = begin; c < end; c += block) at_once(r, c, end);
    });
}

}  // namespace orrery::kernels::cpu
