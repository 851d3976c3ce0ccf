// Scratch of the embedding's gradient.
#pragma once

#include <cstdint>

#include "kernels/settings.hpp"

namespace orrery::kernels::cuda {

/// Rows of the table, by its settings or, where these say nothing, as many as tokens.
inline std::uint64_t table_rows(const Pointwise& kernel, const Settings& settings) {
    return settings.table_rows != 0 ? settings.table_rows : kernel.rows;
}

/// Two arrays of one number for each row of the table, a cursor after the first, and three of one for each token.
struct EmbeddingScratch {
    std::uint32_t *count, *cursor, *start, *slot, *any_order, *in_order;

    EmbeddingScratch(void* memory, std::uint64_t table, std::uint64_t tokens)
        : count(static_cast<std::uint32_t*>(memory)),
          cursor(count + table),
          start(cursor + 1),
          slot(start + table),
          any_order(slot + tokens),
          in_order(any_order + tokens) {}

    static std::uint64_t bytes(std::uint64_t table, std::uint64_t tokens) {
        return (2 * table + 3 * tokens + 1) * sizeof(std::uint32_t);
    }
};

}  // namespace orrery::kernels::cuda
