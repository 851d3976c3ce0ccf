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

}  // namespace orrery::doors
