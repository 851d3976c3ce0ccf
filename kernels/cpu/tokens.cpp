// Rows at addresses that tokens decide: each row is a copy or a sum, as fast as memory allows.
#include <cstring>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void add_row(const float* __restrict dy,
                                                                                   float* __restrict row,
                                                                                   std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) row[i] += dy[i];
}

[[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]] void combine_rows(const float* __restrict one,
                                                                                        const float* __restrict two,
                                                                                        float first, float second,
                                                                                        float* __restrict y,
                                                                                        std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] = first * one[i] + second * two[i];
}

/// y row r = x row from(r).
template <class From>
void gather(const Pointwise& p, const float* x, float* y, const From& from) {
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r)
            std::memcpy(y + r * p.cols, x + from(r) * p.cols, p.cols * sizeof(float));
    });
}

/// Whether a rank that holds `rows` rows of the table holds this one; 0: it holds all.
bool inside(std::int32_t id, std::uint64_t rows) {
    return rows == 0 || (id >= 0 && static_cast<std::uint64_t>(id) < rows);
}

}  // namespace

void run_embedding(const Pointwise& p, const Memory& memory) {
    const auto* const ids = memory.as<std::int32_t>(0);
    const std::uint64_t rows = memory.settings().table_rows;
    if (rows == 0)
        return gather(p, memory[1], memory[2], [ids](std::uint64_t r) { return static_cast<std::uint64_t>(ids[r]); });
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            if (inside(ids[r], rows))
                std::memcpy(memory[2] + r * p.cols, memory[1] + static_cast<std::uint64_t>(ids[r]) * p.cols,
                            p.cols * sizeof(float));
            else
                std::memset(memory[2] + r * p.cols, 0, p.cols * sizeof(float));
        }
    });
}

void run_permute(const Pointwise& p, const Memory& memory) {
    if (memory.settings().unpermuted.x != nullptr) return run_unpermute_backward(p, memory);
    const auto* const source = memory.as<std::int32_t>(1);
    gather(p, memory[0], memory[2], [source, top_k = top_k_of(memory.settings())](std::uint64_t r) {
        return static_cast<std::uint64_t>(source[r]) / top_k;
    });
}

/// Threads share the columns: two tokens may be the same row.
void run_embedding_backward(const Pointwise& p, const Memory& memory) {
    const auto* const ids = memory.as<std::int32_t>(0);
    const int parts = parts_of(p.cols, least_elements / p.rows + 16);
    split(p.cols, parts, 16, [&](int, std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = 0; r < p.rows; ++r)
            if (inside(ids[r], memory.settings().table_rows))
                add_row(memory[1] + r * p.cols + begin, memory[2] + static_cast<std::uint64_t>(ids[r]) * p.cols + begin,
                        end - begin);
    });
}

void run_unpermute(const Pointwise& p, const Memory& memory) {
    if (top_k_of(memory.settings()) != moe_top_k) return run_unpermute_any(p, memory);
    const auto* const position = memory.as<std::int32_t>(1);
    static_assert(moe_top_k == 2);
    split_rows(p.rows / moe_top_k, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t t = begin; t < end; ++t) {
            const float* const one = memory[0] + static_cast<std::uint64_t>(position[2 * t]) * p.cols;
            const float* const two = memory[0] + static_cast<std::uint64_t>(position[2 * t + 1]) * p.cols;
            combine_rows(one, two, memory[2][2 * t], memory[2][2 * t + 1], memory[3] + t * p.cols, p.cols);
        }
    });
}

}  // namespace orrery::kernels::cpu
