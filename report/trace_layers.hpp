// What runs within a layer's pass, which the simulator times as one operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/trace_tracks.hpp"
#include "sim/step.hpp"

namespace orrery::report {

/// An operation of a block, as one call of it runs.
struct Inner {
    const strategies::Op* op = nullptr;
    double begin = 0, end = 0;  ///< seconds of the step
};

/// The operations that a call stands for, stretched to the time that the call took; nothing for other operations and
/// where the step does not know its blocks' times (Recording::blocks).
std::vector<Inner> inside(const sim::Step& step, const strategies::Op& op, const sim::Span& span);

/// How many there are, by the micro-batch of their call (those of none count as of the first).
std::vector<std::size_t> inner_counts(const sim::Step& step, const Tracks& tracks);

}  // namespace orrery::report
