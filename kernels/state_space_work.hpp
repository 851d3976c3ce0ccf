// What each kernel of a state-space scan computes and moves.
#pragma once

#include "kernels/kernel.hpp"

namespace orrery::kernels {

/// Whether a kernel slides a window over tokens, as convolutions before scans do, and scans nothing.
bool convolves(StateSpaceKind kind);
/// Floating-point operations, a multiply-add counting as two.
double flops_of(const StateSpace& kernel);
/// Bytes across the device's memory, every operand read once and every result written once.
double bytes_of(const StateSpace& kernel);

}  // namespace orrery::kernels
