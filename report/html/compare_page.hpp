// The HTML report of a prediction that is held against a measurement.
#pragma once

#include <string>

#include "report/compare.hpp"
#include "report/side.hpp"

namespace orrery::report {

/// comparison: of these two. tolerance: of the step time, relative. command: that makes the page. Throws Error where
/// the program was built without it, and for documents that are damaged where compare() does not look.
std::string compare_page(const Comparison& comparison, const Side& predicted, const Side& measured, double tolerance,
                         const std::string& command);

}  // namespace orrery::report
