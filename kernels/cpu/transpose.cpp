#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"

namespace orrery::kernels::cpu {

namespace {

/// A tile of rows and columns whose lines both stay in the first level of cache; one line of fp32 holds 16.
constexpr std::size_t tile = 16;

/// x, y: the tile's first element before and after; cols, rows: elements to the next row of each.
[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void transpose_tile(const float* __restrict x,
                                                                                          std::size_t cols,
                                                                                          float* __restrict y,
                                                                                          std::size_t rows) {
    float turned[tile][tile];
    for (std::size_t r = 0; r < tile; ++r)
        for (std::size_t c = 0; c < tile; ++c) turned[c][r] = x[r * cols + c];
    for (std::size_t c = 0; c < tile; ++c)
        for (std::size_t r = 0; r < tile; ++r) y[c * rows + r] = turned[c][r];
}

void transpose_edge(const float* x, std::size_t cols, float* y, std::size_t rows, std::size_t height,
                    std::size_t width) {
    for (std::size_t c = 0; c < width; ++c)
        for (std::size_t r = 0; r < height; ++r) y[c * rows + r] = x[r * cols + c];
}

}  // namespace

void run_transpose(const Pointwise& p, const Memory& memory) {
    const auto columns = [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = 0; r < p.rows; r += tile)
            for (std::uint64_t c = begin; c < end; c += tile) {
                const std::uint64_t height = std::min<std::uint64_t>(tile, p.rows - r);
                const std::uint64_t width = std::min<std::uint64_t>(tile, end - c);
                const float* const from = memory[0] + r * p.cols + c;
                float* const to = memory[1] + c * p.rows + r;
                if (height == tile && width == tile)
                    transpose_tile(from, p.cols, to, p.rows);
                else
                    transpose_edge(from, p.cols, to, p.rows, height, width);
            }
    };
    const int parts = parts_of(p.cols, least_elements / p.rows + tile);
    split(p.cols, parts, tile, [&](int, std::uint64_t begin, std::uint64_t end) { columns(begin, end); });
}

}  // namespace orrery::kernels::cpu
