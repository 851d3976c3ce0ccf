// The title of a scenario that was changed on the way.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace orrery::scenarios {

/// A title names a model and a cluster: it says which of their keys were overridden, as in
/// "GPT-3 on 128 DGX A100, with model.num_hidden_layers=48". The name itself when they set another, or neither of the
/// two.
std::string title(const std::string& name, const std::vector<Override>& overrides);

}  // namespace orrery::scenarios
