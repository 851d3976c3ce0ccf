// CUDA's compute capabilities of the generations that code tells apart (CUDA C++ programming guide), 80 for 8.0.
#pragma once

namespace orrery::hardware {

inline constexpr int volta = 70, ampere = 80, hopper = 90, blackwell = 100, blackwell_ultra = 103;

constexpr bool is_hopper(int compute_capability) {
    return compute_capability >= hopper && compute_capability < blackwell;
}

}  // namespace orrery::hardware
