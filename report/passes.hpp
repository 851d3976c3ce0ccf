// What a rank does on each lane, as passes of micro-batches: the bars of a timeline.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/step.hpp"

namespace orrery::report {

/// Consecutive operations of a lane that belong to one micro-batch's way through the layers, or a single one.
struct Pass {
    std::vector<std::uint32_t> ops;  ///< of the program, in order
    double begin = 0, end = 0;       ///< seconds
};

/// By lane; synchronisations of the host are left out. One span for each operation.
std::array<std::vector<Pass>, strategies::lanes> passes(const strategies::Program& program,
                                                        const std::vector<sim::Span>& spans);

/// The phase of an operation, or communication, copy or host: what its bar is coloured by.
std::string_view hue(const strategies::StepProgram& step, const strategies::Op& op);

}  // namespace orrery::report
