// Scratch of the embedding's gradient.
#pragma once

#include <cstdint>

namespace orrery::kernels::cuda {

/// Five arrays of one number for each of `rows` tokens (the table has as many rows), and a cursor after the counts.
struct EmbeddingScratch {
    std::uint32_t *count, *cursor, *start, *slot, *any_order, *in_order;

    EmbeddingScratch(void* memory, std::uint64_t rows)
        : count(static_cast<std::uint32_t*>(memory)),
          cursor(count + rows),
          start(cursor + 1),
          slot(start + rows),
          any_order(slot + rows),
          in_order(any_order + rows) {}

    static std::uint64_t bytes(std::uint64_t rows) { return (5 * rows + 1) * sizeof(std::uint32_t); }
};

}  // namespace orrery::kernels::cuda
