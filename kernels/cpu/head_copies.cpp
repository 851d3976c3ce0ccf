// Heads of attention change places with tokens, where its products are kernels of their own.
#include <cstring>
#include <vector>

#include "kernels/cpu/clones.hpp"
#include "kernels/cpu/half.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/pointwise.hpp"

namespace orrery::kernels::cpu {

namespace {

ORRERY_CLONED void add_to(const float* __restrict from, float* __restrict to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] += from[i];
}

}  // namespace

void run_head_copies(const Pointwise& p, const Memory& memory) {
    const HeadMatrices& h = memory.settings().heads;
    const Format format = format_of(p.dtype);
    const std::uint64_t size = size_of(format), columns = h.columns, heads = p.cols / columns,
                        stride = memory.settings().row_stride != 0 ? memory.settings().row_stride : p.cols;
    auto *const x = memory.as<std::byte>(0), *const y = memory.as<std::byte>(1);
    // Of a token's head, and of one of those that are summed to it: its place among matrices of [tokens, columns].
    const auto matrix = [&](std::uint64_t row, std::uint64_t head, std::uint64_t member) {
        return (((row / h.tokens * heads + head) * h.shared + member) * h.tokens + row % h.tokens) * columns;
    };
    split_rows(p.rows, p.cols * h.shared, [&](std::uint64_t begin, std::uint64_t end) {
        std::vector<float> sum(columns), next(columns);
        for (std::uint64_t row = begin; row < end; ++row)
            for (std::uint64_t head = 0; head < heads; ++head) {
                const std::uint64_t beside = row * (h.joined ? stride : p.cols) + head * columns;
                if (!h.joined) {
                    std::memcpy(y + matrix(row, head, 0) * size, x + beside * size, columns * size);
                } else if (h.shared == 1) {
                    std::memcpy(y + beside * size, x + matrix(row, head, 0) * size, columns * size);
                } else {
                    load(format, x, matrix(row, head, 0), sum.data(), columns);
                    for (std::uint64_t member = 1; member < h.shared; ++member) {
                        load(format, x, matrix(row, head, member), next.data(), columns);
                        add_to(next.data(), sum.data(), columns);
                    }
                    store(format, sum.data(), y, beside, columns);
                }
            }
    });
}

}  // namespace orrery::kernels::cpu
