// Strict reading of a JSON file: one value, UTF-8, no repeated keys, bounded size and depth.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace orrery::scenarios {

inline constexpr std::size_t max_document_bytes = 16U << 20U;
inline constexpr int max_document_depth = 64;

/// Parses a whole document. Throws Error with file and position (line and column; the pointer of a repeated key or
/// of nesting beyond max_document_depth).
nlohmann::json parse_document(std::string_view bytes, const std::string& file);

/// What a file holds. Throws Error for a folder, a missing or unreadable file, and more than max_document_bytes (hint:
/// what to name instead).
std::string read_bytes(const std::filesystem::path& file, const std::string& hint);

/// Reads and parses a file. Throws Error for a folder, a missing or unreadable file, more than max_document_bytes,
/// and everything parse_document() refuses.
nlohmann::json read_document(const std::filesystem::path& file);

/// A value as it stands in a message: its JSON text, at most about 60 characters, printable.
std::string shown(const nlohmann::json& value);
/// Text in a message: control characters and bytes that are not UTF-8 escaped, shortened to about `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);

/// Pointer of a key below another pointer, escaped by RFC 6901.
std::string child_pointer(std::string_view parent, std::string_view key);

}  // namespace orrery::scenarios
