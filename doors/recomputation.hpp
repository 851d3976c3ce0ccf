// Layers that Megatron-LM, and NeMo on it, run again: recompute_method and recompute_num_layers.
#pragma once

#include "doors/draft.hpp"
#include "doors/meaning.hpp"

namespace orrery::doors {

/// Beside a granularity of "full" that is set already, as are layers, stages and chunks: "block" runs so many layers of
/// each chunk again, any other method (or none) all of them. A number of layers between kept inputs is not modelled,
/// and said so. Either may be null: not given.
void read_recomputed_layers(const Given* number, const Given* method, Draft& draft);

}  // namespace orrery::doors
