// Strict reading of a JSON file: one value, UTF-8, no repeated keys, bounded size and depth.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace orrery::documents {

/// Of what people write: scenarios, models, lists. What programs write may be larger.
inline constexpr std::size_t max_document_bytes = 16U << 20U;
inline constexpr std::size_t max_depth = 64;

/// What a message about a document that is none advises.
struct Wanted {
    std::string example = "the shipped scenarios are examples";  ///< of a document that is as it should be
    std::size_t most_bytes = max_document_bytes;
    bool comments = false;  ///< text behind // up to the end of the line, and between /* and */, is passed over
};
/// Scenarios, which people write and explain.
inline const Wanted commented{.comments = true};

/// Parses a whole document. Throws Error with file and position (line and column; the pointer of a repeated key) for
/// what is no JSON, a key that stands twice in an object, a number beyond a double (1e999), and nesting beyond
/// max_depth.
nlohmann::json parse_document(std::string_view bytes, const std::string& file, const Wanted& wanted = {});

/// Reads and parses a file. Throws Error for everything that read_file() (base/read_file.hpp) and parse_document()
/// refuse.
nlohmann::json read_document(const std::filesystem::path& file, const Wanted& wanted = {});

}  // namespace orrery::documents
