// Layers divided among stages, as text, as CSV and as JSON.
#pragma once

#include <string>

#include "planning/partition/partition.hpp"
#include "report/style.hpp"

namespace orrery::report {

/// simulate: the command line that predicts the scenario, which what is found is put behind.
std::string partition_text(const planning::Partition& partition, const std::string& simulate, Style style);
/// A line a stage: of the plan's division and of the balanced one, then of PipeDream's. Shares of the batch have none.
std::string partition_csv(const planning::Partition& partition);
/// {planned, balanced: {pipeline_layers, step_time_s, fits, stages: [...]}, replicated: {seconds,
/// data_parallel_seconds, stages: [...]}, shares: {planned, balanced: {replica_micro_batches, step_time_s, fits,
/// seconds: [...]}}}; null for what cannot be, with its reason beside it.
std::string partition_json(const planning::Partition& partition);

}  // namespace orrery::report
