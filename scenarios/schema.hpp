// What the table of keys says, for others: the JSON Schema of a scenario, and the table of keys in README.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace orrery::scenarios {

/// JSON Schema, draft 7, of a scenario file: what scenario.schema.json holds.
nlohmann::ordered_json schema();

/// Markdown: a table for each object, with kind, range, default, meaning and other spellings of every key.
std::string key_tables();

}  // namespace orrery::scenarios
