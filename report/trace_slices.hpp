// The slices of a timeline, and how many of them there may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/trace_tracks.hpp"
#include "sim/step.hpp"

namespace orrery::report {

/// Operations of one lane, one after another: one, or those of a layer's forward or backward pass.
struct Slice {
    std::size_t first = 0;  ///< index into Program::ops
    std::size_t ops = 1;
    double begin = 0, end = 0;  ///< seconds
};

/// What a timeline of at most so many slices holds of the tracks. Calls are opened, micro-batch after micro-batch, as
/// far as there is room. Where every operation is too many, those of a layer's pass make one slice; where that is too
/// many, the timeline ends early.
struct TraceExtent {
    bool by_layer = false;
    std::int32_t opened = 0;  ///< what calls of micro-batches below this run (trace_layers.hpp) is shown, too
    double until = 0;         ///< slices that begin later are left out; infinite: none
    std::string left_out;     ///< in words; empty: nothing
};

/// Whether what an operation runs is shown.
[[nodiscard]] constexpr bool opens(const TraceExtent& extent, const strategies::Op& op) {
    return extent.opened > 0 && op.label.micro_batch < extent.opened;
}

std::vector<Slice> slices(const sim::Step& step, const Track& track, const TraceExtent& extent);

TraceExtent trace_extent(const sim::Step& step, const Tracks& tracks, std::size_t most_slices);

}  // namespace orrery::report
