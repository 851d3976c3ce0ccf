// `--set path=value`: changes to a parsed document before it is checked.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "scenarios/scenario.hpp"

namespace orrery::scenarios {

/// How messages name an override: `--set strategy.tensor=4`.
std::string describe(const Override& change);

/// RFC 6901 pointer of an override's path: "strategy.tensor" -> "/strategy/tensor".
std::string pointer_of(const Override& change);

/// Refuses a path that no key of a scenario begins, or goes on. Throws Error with describe() in place of the file.
void require_known(const Override& change);

/// Sets the value at the path. Missing objects on the way are made; a list takes the index of an element that it has;
/// other spellings of the same key are removed, and null removes the key itself. Throws Error, with describe() in
/// place of the file, for a path through a value that is neither an object nor a list.
void apply_override(nlohmann::json& document, const Override& change);

}  // namespace orrery::scenarios
