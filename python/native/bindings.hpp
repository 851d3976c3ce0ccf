// The classes of the native module, one file each; the package's Python files are what users see of them.
#pragma once

#include <pybind11/pybind11.h>

namespace orrery::python {

/// Request: a scenario as it is asked for, by file, document or keys.
void add_request(pybind11::module_& module);
/// Prediction and Explanation: one scenario's step.
void add_prediction(pybind11::module_& module);
/// Sweep and Search: many plans.
void add_plans(pybind11::module_& module);
/// Capacity: which cluster.
void add_capacity(pybind11::module_& module);

/// For functions that work: other threads of Python go on meanwhile.
using Unlocked = pybind11::call_guard<pybind11::gil_scoped_release>;

}  // namespace orrery::python
