// Rows at addresses that tokens decide: each row is a copy or a sum, as fast as memory allows.
#include <cstring>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"
#include "kernels/operands.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED void add_row(const float* __restrict dy, float* __restrict row, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) row[i] += dy[i];
}

ORRERY_CLONED void combine_rows(const float* __restrict one, const float* __restrict two, float first, float second,
                                float* __restrict y, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) y[i] = first * one[i] + second * two[i];
}

/// y row r = x row from(r), as bytes.
template <class From>
void gather(const Pointwise& p, const std::byte* x, std::byte* y, const From& from) {
    const std::uint64_t row = p.cols * size_of(p.dtype);
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) std::memcpy(y + r * row, x + from(r) * row, row);
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
        return gather(p, memory.as<std::byte>(1), memory.as<std::byte>(2),
                      [ids](std::uint64_t r) { return static_cast<std::uint64_t>(ids[r]); });
    const std::uint64_t row = p.cols * size_of(p.dtype);
    split_rows(p.rows, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t r = begin; r < end; ++r) {
            std::byte* const y = memory.as<std::byte>(2) + r * row;
            inside(ids[r], rows)
                ? std::memcpy(y, memory.as<std::byte>(1) + static_cast<std::uint64_t>(ids[r]) * row, row)
                : std::memset(y, 0, row);
        }
    });
}

void run_permute(const Pointwise& p, const Memory& memory) {
    if (memory.settings().unpermuted.x != nullptr) return run_unpermute_backward(p, memory);
    const auto* const source = memory.as<std::int32_t>(1);
    gather(p, memory.as<std::byte>(0), memory.as<std::byte>(2),
           [source, top_k = top_k_of(memory.settings())](std::uint64_t r) {
               return static_cast<std::uint64_t>(source[r]) / top_k;
           });
}

/// Threads share the columns: two tokens may be the same row.
void run_embedding_backward(const Pointwise& p, const Memory& memory) {
    const std::vector<Operand> list = operands(p, memory.settings());
    const auto* const ids = memory.as<std::int32_t>(0);
    const int parts = parts_of(p.cols, least_elements / p.rows + 16);
    split(p.cols, parts, 16, [&](int, std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t count = end - begin;
        std::vector<float> scratch(2 * count);
        for (std::uint64_t r = 0; r < p.rows; ++r) {
            if (!inside(ids[r], memory.settings().table_rows)) continue;
            const std::uint64_t from = r * p.cols + begin, to = static_cast<std::uint64_t>(ids[r]) * p.cols + begin;
            const float* const dy = as_floats(list[1].format, memory[1], from, scratch.data(), count);
            float* const row = as_floats(list[2].format, memory[2], to, scratch.data() + count, count);
            add_row(dy, row, count);
            if (list[2].format != Format::fp32) store(list[2].format, row, memory[2], to, count);
        }
    });
}

void run_unpermute(const Pointwise& p, const Memory& memory) {
    if (top_k_of(memory.settings()) != moe_top_k) return run_unpermute_any(p, memory);
    const auto* const position = memory.as<std::int32_t>(1);
    const Format format = format_of(p.dtype);
    static_assert(moe_top_k == 2);
    split_rows(p.rows / moe_top_k, p.cols, [&](std::uint64_t begin, std::uint64_t end) {
        std::vector<float> scratch(3 * p.cols);
        float* const sum = scratch.data() + 2 * p.cols;
        const auto row = [&](std::uint64_t copy) {
            return as_floats(format, memory[0], static_cast<std::uint64_t>(position[copy]) * p.cols,
                             scratch.data() + copy % moe_top_k * p.cols, p.cols);
        };
        for (std::uint64_t t = begin; t < end; ++t) {
            float* const y = format == Format::fp32 ? memory[3] + t * p.cols : sum;
            combine_rows(row(2 * t), row(2 * t + 1), memory[2][2 * t], memory[2][2 * t + 1], y, p.cols);
            if (y == sum) store(format, sum, memory[3], t * p.cols, p.cols);
        }
    });
}

}  // namespace orrery::kernels::cpu
