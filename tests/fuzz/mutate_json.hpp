// Changes of documents that know the keys of scenarios and plans (documents/key.hpp): what each may hold, its bounds,
// its words and other spellings.
#pragma once

#include <optional>
#include <string>

#include "tests/fuzz/mutate.hpp"

namespace orrery::fuzz {

/// The document with one change; nothing where the text is no document.
std::optional<std::string> mutated_json(const std::string& text, Random& random);

/// A part of one document in the place of a part of the other, under the same key where both have one.
std::optional<std::string> spliced_json(const std::string& into, const std::string& from, Random& random);

}  // namespace orrery::fuzz
