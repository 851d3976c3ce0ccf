// The "model" object of a scenario: a catalog name, a Hugging Face file, or the hyper-parameters themselves.
#pragma once

#include <string>
#include <string_view>

#include "models/model_spec.hpp"
#include "scenarios/reader.hpp"

namespace orrery::scenarios {

/// {"name": catalog entry} or {"hugging_face": path}, with single fields laid over it, or every field by itself.
/// A width that the base derives from another follows it: head_dim = hidden / heads, kv_heads = heads without
/// grouping, ffn = 4 hidden. Throws Error with file and pointer; models::validate() has passed.
models::ModelSpec read_model(const Reader& reader);

/// The key of a field of ModelSpec: "kv_heads" -> "num_key_value_heads"; the field itself when no key sets it.
std::string_view key_of_field(std::string_view field);

}  // namespace orrery::scenarios
