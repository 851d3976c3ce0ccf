// The mathematics of operands.hpp in double precision, one element of an output at a time: what every device is
// verified against. Slow and plain; nothing here is ever timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "kernels/kernel.hpp"
#include "kernels/number_format.hpp"

namespace orrery::kernels {

/// An operand in host memory, decoded where it is read.
struct Values {
    Format format = Format::fp32;
    const std::byte* data = nullptr;
    double operator[](std::uint64_t i) const {
        if (format != Format::fp32) return decode(format, data + i * size_of(format));
        float value;  // the commonest, without a call
        std::memcpy(&value, data + i * sizeof value, sizeof value);
        return static_cast<double>(value);
    }
};

/// Element `index` of output `operand` (its position in operands(kernel)), before its rounding to the operand's format.
/// before: the operands as they were before the launch; outputs are not read. Attention backward takes o and lse, and
/// the backward of a norm takes mean and rstd, as they are given.
double reference(const Kernel& kernel, std::span<const Values> before, std::size_t operand, std::uint64_t index);

/// How large the terms are that an element is the sum of, where they may cancel: the root of the sum of their squares.
/// Rounding errors of the terms follow it, however small the sum is: dq and dk of attention (all of it cancels where a
/// query sees one key), dx of a norm (with two columns). Elsewhere 0: reference() says it.
double magnitude(const Kernel& kernel, std::span<const Values> before, std::size_t operand, std::uint64_t index);

/// How many terms are summed into one element of an output: k of a Gemm, seq of Attention, the length of a row or a
/// column. It bounds what rounding can do to a result.
std::uint64_t terms(const Kernel& kernel, std::size_t operand);

}  // namespace orrery::kernels
