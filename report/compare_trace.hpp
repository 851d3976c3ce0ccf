// A prediction held against a step that another program traced (`orrery import torch-trace`, `import nsys`).
#pragma once

#include "report/compare.hpp"
#include "report/side.hpp"

namespace orrery::report {

/// Whether a document is such a measurement.
bool is_traced(const nlohmann::json& measured);

/// The step; what the device does at each moment, of the traced rank's stage (the predicted communication of all axes
/// together, and waiting for the host and for other stages as idle); and where the prediction has operations, those of
/// the traced rank by layer, phase and kind. Layers are matched in their order where both sides have as many and the
/// trace knows them for half the share of products and attention that the prediction has there; else kinds and phases
/// alone. Throws Error as compare() does, and where
/// the trace is of a job of another size.
Comparison compare_traced(const Side& predicted, const Side& measured);

}  // namespace orrery::report
