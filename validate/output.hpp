// What `orrery validate` prints and writes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "validate/run.hpp"

namespace orrery::validate {

/// A table of sources, the reasons of skipped rows, and each source's worst rows, for each kind of measurement that
/// the files hold.
std::string to_text(const Report& report);

/// {"version": 1, "rows": [{id, source, kind, status, reason, measured_s, predicted_s, error, group, scenario,
/// interval_s}], "sources": [{source, rows, predicted, skipped, reasons, median, mean, bias, spearman, pairs,
/// ordered_pairs, worst}], "mean_of_medians": x, "within_tenth": x, "inside_interval": x, "spearman": x, "ordered": x,
/// "independent": {sources, rows, and these five}, "memory": {rows, sources, mean_of_medians, ...}, "collectives": {the
/// same}}. Rows of one group are ordered among themselves, those with one scenario are predicted alike. Memory
/// rows hold measured_bytes and predicted_bytes; collective rows measured_s and predicted_s at their middle size, sizes
/// and signed_error. What does not exist is null; no number is infinite or NaN. Key order is fixed; group, scenario and
/// interval_s are there where a row has one.
nlohmann::ordered_json to_json(const Report& report);

}  // namespace orrery::validate
