// Activations other than those that kernels are named after.
#pragma once

#include <cstddef>

#include "kernels/settings.hpp"

namespace orrery::kernels::cpu {

/// x [rows, cols] and bias [cols] -> y; with dy [rows, cols] the gradient of x.
struct BiasedRows {
    const float *x, *bias, *dy;  ///< dy: null forward
    float* y;
    std::size_t rows, cols;
};
/// x [rows, 2 cols], the gate before what it weighs -> y [rows, cols]; with dy the gradient of x.
struct GatedRows {
    const float *x, *dy;
    float* y;
    std::size_t rows, cols;
};

void apply(Function function, const BiasedRows& rows);
void apply(Function function, const GatedRows& rows);

}  // namespace orrery::kernels::cpu
