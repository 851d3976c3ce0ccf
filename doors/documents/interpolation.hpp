// OmegaConf's interpolations in YAML: ${model.hidden_size}, ${.hidden_size}, ${multiply:4, ${.hidden_size}}.
#pragma once

#include <nlohmann/json.hpp>

namespace orrery::doors {

/// Puts in what interpolations of a document stand for. Those of the environment, of missing keys and of resolvers that
/// are not known stay as text.
void interpolate(nlohmann::ordered_json& document);

}  // namespace orrery::doors
