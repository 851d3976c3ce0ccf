// Configuration files in three syntaxes as one: nested keys with the places where they stand.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "doors/meaning.hpp"

namespace orrery::doors {

// Each reads a whole file, bounded in size and depth, and throws Error with its place for what is none.
nlohmann::ordered_json read_json(const std::string& file);
nlohmann::ordered_json read_toml(const std::string& file);
nlohmann::ordered_json read_yaml(const std::string& file);

/// A value as YAML takes it: "4" is a number, "[silu, linear]" a list; what is no YAML stays a text.
nlohmann::ordered_json yaml_value(const std::string& text);

/// The values of a document by their path: {"a": {"b": 1}} is "a.b". Lists are values. A document that is no object is
/// refused.
Givens flattened(const nlohmann::ordered_json& document, const std::string& file);

}  // namespace orrery::doors
