// What the table of keys says, for others: the JSON Schema of a scenario, and a reference for readers.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace orrery::scenarios {

/// JSON Schema, draft 7, of a scenario file: what scenario.schema.json holds.
nlohmann::ordered_json schema();

/// One key in words, for a row of a table.
struct KeyWords {
    std::string object;  ///< "strategy"; "" for the document itself
    std::string key, values, when_absent, meaning;
    std::string elsewhere;  ///< its names in other programs
};
/// Every key, object by object in the order of Place.
std::vector<KeyWords> keys_in_words();

/// Markdown: what docs/scenario.md holds, a table for each object.
std::string key_reference();

}  // namespace orrery::scenarios
