// Numbers of dropouts' masks, many at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/dropout_mask.hpp"

namespace orrery::kernels::cpu {

/// Of the launch's elements [first, first + count): 1 for those that stay, else 0.
void draw_mask(const MaskNumbers& numbers, std::uint64_t first, std::size_t count, std::uint8_t* to);

/// What each of them is multiplied by.
void draw_factors(const MaskNumbers& numbers, std::uint64_t first, std::size_t count, float* to);

}  // namespace orrery::kernels::cpu
