// The fields of ModelSpec as keys: of a scenario's "model", of a plan file, of what a report writes out.
#pragma once

#include "documents/fields.hpp"
#include "models/model_spec.hpp"

namespace orrery::models {

/// Every field, in the order in which they are written. Keys are Hugging Face's, Megatron-LM's where it has none.
/// Ranges keep byte counts in 64 bits and kernel shapes in 32; they lie far beyond any published model.
std::span<const documents::Field<ModelSpec>> model_fields();

}  // namespace orrery::models
