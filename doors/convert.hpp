// Values of other programs' files as a scenario's keys want them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "documents/key.hpp"

namespace orrery::doors {

/// The value under the key; nothing where it is none: texts of command lines become numbers and booleans, names of
/// values are compared without regard to case.
std::optional<nlohmann::ordered_json> converted(const documents::Key& key, const nlohmann::ordered_json& value);

/// "12", "220_000", 12, 12.0 -> 12.
std::optional<std::uint64_t> whole_number(const nlohmann::ordered_json& value);
/// "0.1", 1e-5.
std::optional<double> real_number(const nlohmann::ordered_json& value);
/// "True", "1", true; anything that is neither true nor false is nothing.
std::optional<bool> truth(const nlohmann::ordered_json& value);

bool same_word(std::string_view a, std::string_view b);

}  // namespace orrery::doors
