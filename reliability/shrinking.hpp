// A job that goes on with fewer replicas while broken nodes are repaired and no spare one is left.
#pragma once

#include "reliability/training_run.hpp"

namespace orrery::reliability {

/// Wall clock of a run that would take `seconds` with all its replicas; broken: nodes that break, a second of the whole
/// job. To first order: what failures cost besides is that of the whole job.
double shrunk_seconds(const TrainingRun& run, double seconds, double broken);

}  // namespace orrery::reliability
