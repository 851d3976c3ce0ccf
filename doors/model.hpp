// A model that something else describes: a Hugging Face file, or the catalog.
#pragma once

#include <optional>
#include <string>

#include "doors/draft.hpp"
#include "models/model_spec.hpp"

namespace orrery::doors {

/// Puts every field of the model into the draft, in place of what it has of one.
void put_model(const models::ModelSpec& spec, const Origin& origin, Draft& draft);

/// The same of a Hugging Face config.json, or of a model of the catalog. What is wrong with it becomes a finding.
void put_named_model(const std::string& named, Draft& draft);

/// How transformers itself computes such a model (models/*/modeling_*.py): RMSNorm by operators, products apart,
/// PyTorch's own loss (strategies/README.md). Nothing where the file cannot be read, which put_named_model says.
void put_transformers_modules(const std::string& named, Draft& draft);

/// Whether the catalog has a model of this name.
bool is_listed(const std::string& name);

/// The catalog's model that the draft names; none where it names none, or one that a file or its own sizes describe.
std::optional<models::ModelSpec> named_model(const Draft& draft);

/// Whether the model that the draft names or writes out has experts, for all that is known.
bool has_experts(const Draft& draft);

}  // namespace orrery::doors
