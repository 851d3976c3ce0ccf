// The timeline of a step for the page: passes of micro-batches, the layers within them, and the kernels of a layer.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "scenarios/scenario.hpp"
#include "sim/prediction.hpp"

namespace orrery::report {

/// Object for web/src/parts/timeline.js. Times are whole nanoseconds.
///   tracks: [{title, stage, lanes: [{name, passes}]}], at most so many that the page stays small; passes holds five
///           numbers each: begin, duration, label, micro-batch (-1: none), pattern (-1: a single operation)
///   labels: [{text, colour, what?, block?}]
///   patterns: four numbers for each operation of a pass: offset, duration, layer, label
///   blocks: by their number {duration_ns, ops: [[text, category, offset, duration]]}
///   left_out: in words, "" when all is there
/// Needs Prediction::program and Prediction::trace.
nlohmann::ordered_json timeline(const scenarios::Scenario& scenario, const sim::Prediction& prediction);

}  // namespace orrery::report
