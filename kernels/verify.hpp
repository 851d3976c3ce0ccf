// Is a device's kernel right? It is asked before its time is believed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/device.hpp"

namespace orrery::kernels {

/// One output against the reference.
struct OutputCheck {
    std::string name;
    std::uint64_t elements = 0;
    std::uint64_t compared =
        0;  ///< elements held against the reference: all of a small output, a sample of a large one
    std::uint64_t unwritten = 0;  ///< of all elements: still poisoned, infinite or not a number
    /// ||out - ref|| / ||size|| over the compared, ||out - ref|| when all are zero. size: |ref|, or how large the terms
    /// are that cancel in it (magnitude(), reference.hpp). out - ref: beyond half the format's smallest number.
    double error = 0;
    double worst = 0;      ///< largest |out - ref| / max(size, root mean square of size): one wrong element shows here
    double tolerance = 0;  ///< of error; worst may be 8 times as large
    [[nodiscard]] bool passed() const { return unwritten == 0 && error <= tolerance && worst <= 8 * tolerance; }
};

struct Verification {
    std::vector<OutputCheck> outputs;
    [[nodiscard]] bool passed() const;
    /// "c: error 1.2e-04 of at most 5.9e-03, worst 3.1e-04, 4098 of 1048576 compared" a line an output.
    [[nodiscard]] std::string to_text() const;
};

/// Runs the kernel once on random operands, outputs poisoned, and holds its outputs against the reference. Takes a
/// few seconds for operands of gigabytes. Throws Error as operands() does, DeviceError when the device fails.
Verification verify(Device& device, const Kernel& kernel, std::uint64_t seed);

/// The error that rounding alone explains, for one output of a kernel; see verify.cpp for the reasoning.
double tolerance(const Kernel& kernel, std::size_t operand);

}  // namespace orrery::kernels
