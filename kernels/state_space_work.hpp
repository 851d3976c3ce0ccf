// What each kernel of a state-space scan computes and moves.
#pragma once

#include "kernels/kernel.hpp"

namespace orrery::kernels {

/// Floating-point operations, a multiply-add counting as two.
double flops_of(const StateSpace& kernel);
/// Bytes across the device's memory, every operand read once and every result written once.
double bytes_of(const StateSpace& kernel);

}  // namespace orrery::kernels
