// The "model" object of a scenario: a catalog name, a Hugging Face file, or the hyper-parameters themselves.
#pragma once

#include "documents/reader.hpp"
#include "models/model_spec.hpp"

namespace orrery::scenarios {

/// {"name": catalog entry} or {"hugging_face": path}, with single fields laid over it, or every field by itself.
/// A width that the base derives from another follows it: head_dim = hidden / heads, kv_heads = heads without
/// grouping, ffn = 4 hidden. Throws Error with file and pointer; models::validate() has passed.
models::ModelSpec read_model(const documents::Reader& reader);

}  // namespace orrery::scenarios
