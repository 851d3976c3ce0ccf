#include "strategies/tensor_grid.hpp"

#include <algorithm>

namespace orrery::strategies {

namespace {

/// The largest number whose power is at most `of`; at least 1.
std::uint32_t root(std::uint32_t of, std::uint32_t power) {
    const auto raised = [power](std::uint64_t base) {
        std::uint64_t product = 1;
        for (std::uint32_t i = 0; i < power; ++i) product *= base;
        return product;
    };
    std::uint32_t base = 1;
    while (raised(std::uint64_t{base} + 1) <= of) ++base;
    return base;
}

}  // namespace

TensorGrid grid_of(TensorMode mode, std::uint32_t ranks, std::uint32_t depth) {
    switch (mode) {
        case TensorMode::one_d: break;
        case TensorMode::two_d: return {mode, root(ranks, 2), root(ranks, 2), 1};
        case TensorMode::two_and_half_d: {
            const std::uint32_t squares = std::max(1U, depth), side = root(ranks / squares, 2);
            return {mode, side, side, squares};
        }
        case TensorMode::three_d: return {mode, root(ranks, 3), root(ranks, 3), root(ranks, 3)};
    }
    return {mode, 1, 1, 1};
}

}  // namespace orrery::strategies
