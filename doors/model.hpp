// A model that something else describes: a Hugging Face file, or the catalog.
#pragma once

#include <string>

#include "doors/draft.hpp"
#include "models/model_spec.hpp"

namespace orrery::doors {

/// Puts every field of the model into the draft, in place of what it has of one.
void put_model(const models::ModelSpec& spec, const Origin& origin, Draft& draft);

/// The same of a config.json. What is wrong with it becomes a finding.
void put_hugging_face(const std::string& file, Draft& draft);

/// How transformers itself computes the model of such a file (models/*/modeling_*.py): RMSNorm by operators, products
/// apart, PyTorch's own loss (strategies/README.md). Nothing where the file cannot be read, which put_hugging_face
/// says.
void put_transformers_modules(const std::string& file, Draft& draft);

}  // namespace orrery::doors
