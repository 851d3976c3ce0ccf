// A model in the words of a scenario file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/model_spec.hpp"

namespace orrery::report {

/// The scenario's object "model" with every value written out.
nlohmann::ordered_json model_keys(const models::ModelSpec& model);

/// The model's name; of one of the catalog that was changed, also how: "gpt3-175b with num_hidden_layers 48".
std::string model_title(const models::ModelSpec& model);

}  // namespace orrery::report
