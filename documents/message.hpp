// Parts of messages about a JSON document: values, foreign text, and pointers.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace orrery::documents {

/// A value as it stands in a message: its JSON text, at most about 60 characters, printable.
std::string shown(const nlohmann::json& value);
/// Text in a message: control characters and bytes that are not UTF-8 escaped, shortened to about `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);

/// Pointer of a key below another pointer, escaped by RFC 6901.
std::string child_pointer(std::string_view parent, std::string_view key);
/// The same of an element of a list.
std::string child_pointer(std::string_view parent, std::size_t index);

}  // namespace orrery::documents
