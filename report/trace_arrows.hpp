// Messages between the ranks of a timeline.
#pragma once

#include <cstddef>
#include <vector>

#include "report/trace_slices.hpp"
#include "report/trace_tracks.hpp"
#include "sim/step.hpp"

namespace orrery::report {

/// From the send of one track to the receive of another that meets it.
struct Arrow {
    struct End {
        std::size_t track = 0;  ///< of Tracks::shown
        strategies::Lane lane{};
        sim::Span span;
    };
    End from, to;
};

/// Of all messages whose two ranks are shown and whose slices are: the k-th send along an axis meets the k-th receive
/// of the peer, activations and gradients apart (strategies::Send).
std::vector<Arrow> arrows(const sim::Step& step, const Tracks& tracks, const TraceExtent& extent);

}  // namespace orrery::report
