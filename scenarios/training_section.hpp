// The section "training" of a scenario.
#pragma once

#include "documents/reader.hpp"
#include "models/model_spec.hpp"
#include "strategies/training.hpp"

namespace orrery::scenarios {

/// With what is usual where the section does not say it: of that model, and of the precision that it names.
strategies::Training read_training(const documents::Reader& reader, const models::ModelSpec& model);

}  // namespace orrery::scenarios
