// Ways of tokens to their experts and back that are priced and not yet executed: the dispatchers allgather and flex.
#pragma once

#include "models/operators.hpp"
#include "strategies/partition/experts.hpp"
#include "strategies/partition/sharder.hpp"

namespace orrery::strategies {

/// The stream's tokens become the rows of this rank's experts.
void dispatch_priced(LayerStream& stream, const models::Experts& op, const ExpertShapes& shapes);
/// Their results become the stream's tokens again, the shared expert's added.
void combine_priced(LayerStream& stream, const models::Experts& op, const ExpertShapes& shapes);

}  // namespace orrery::strategies
