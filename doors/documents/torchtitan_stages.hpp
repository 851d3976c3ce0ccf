// Where TorchTitan cuts a model into the parts of a pipeline.
#pragma once

#include "doors/convert.hpp"
#include "doors/draft.hpp"

namespace orrery::doors {

/// pipeline_parallel_split_points, the layers that begin a part, or module_fqns_per_model_part, the modules of each:
/// layers of each chunk. What they cannot become is refused.
void read_torchtitan_stages(const Givens& given, Draft& draft);

}  // namespace orrery::doors
