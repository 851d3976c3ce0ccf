// Every operation of every rank with its times, for programs that join a prediction with a measurement.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/prediction.hpp"

namespace orrery::report {

/// "operations" of prediction.schema.json. Needs Prediction::program without calls and Prediction::trace with one class
/// for each rank; throws std::invalid_argument otherwise.
nlohmann::ordered_json operations(const sim::Prediction& prediction);

}  // namespace orrery::report
