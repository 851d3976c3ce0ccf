// The timeline of a step in Chrome's trace format, which https://ui.perfetto.dev opens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.hpp"
#include "sim/step.hpp"

namespace orrery::report {

/// Takes the text piece by piece.
using Sink = std::function<void(std::string_view)>;

struct TraceOptions {
    /// Shown, each of which must be a class of its own (sim::Options::fold false); empty: the first rank of each stage.
    std::vector<std::uint32_t> ranks = {};
    std::size_t most_slices = 42'000;  ///< less than 10 MB of text
};

/// One process per pipeline stage, for the first of its classes of ranks (the same replica's everywhere), and one per
/// straggler; one thread per lane; one complete event (ph "X") per operation, with its category (gemm, attention,
/// memory-bound, layer, communication, copy, host) and in args its micro-batch, layer, phase, text and bytes. A call of
/// a block, such as one layer's forward pass, is one event of category "layer", and as far as there is room the kernels
/// and collectives that it runs are events within it. Arrows (ph "s" and "f") lead from sends to receives. Host
/// synchronisations have a thread of their own, "host". A counter "memory" follows the stage's bytes over time. Times
/// are in microseconds, rounded to nanoseconds so that neighbours never overlap. Returns what was left out to keep the
/// slices few, "" when all is there; the trace says it too ("left out"). Needs Step::program and Step::trace; throws
/// std::invalid_argument when they do not belong together.
std::string chrome_trace(const scenarios::Scenario& scenario, const sim::Step& step, const Sink& sink,
                         const TraceOptions& options = {});

}  // namespace orrery::report
