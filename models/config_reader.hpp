// Reading one JSON object key by key, with file and JSON pointer in every error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::models {

/// A JSON object. A key whose value is null counts as absent, except for has_null().
class ConfigReader {
public:
    /// Throws Error when the file cannot be read, is not JSON, or is not an object.
    explicit ConfigReader(const std::filesystem::path& file);

    /// A whole number from 1 to 2^32 - 1. Throws Error when absent.
    [[nodiscard]] std::uint32_t count(std::string_view key) const;
    /// The same from `least` on, nothing when absent.
    [[nodiscard]] std::optional<std::uint32_t> optional_count(std::string_view key, std::uint32_t least = 1) const;
    /// A number from 0 to below 1.
    [[nodiscard]] double probability(std::string_view key, double otherwise) const;
    [[nodiscard]] bool flag(std::string_view key, bool otherwise) const;
    [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
    /// An array of strings, empty when absent.
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;

    /// The object inside this one; an empty one when absent.
    [[nodiscard]] ConfigReader object(std::string_view key) const;

    [[nodiscard]] bool has(std::string_view key) const { return value(key) != nullptr; }
    [[nodiscard]] bool has_null(std::string_view key) const;
    /// Whether the key holds an array that is not empty.
    [[nodiscard]] bool has_entries(std::string_view key) const;

    /// Entries of an array or an object, 0 when absent.
    [[nodiscard]] std::size_t entries(std::string_view key) const;

    [[noreturn]] void fail(std::string_view key, std::string message, std::string hint = "") const;
    [[nodiscard]] const std::string& file() const { return file_; }

private:
    ConfigReader(std::string file, std::string at, nlohmann::json object);
    [[nodiscard]] const nlohmann::json* value(std::string_view key) const;
    [[noreturn]] void fail_type(std::string_view key, const nlohmann::json& found, std::string_view wanted) const;

    std::string file_;
    std::string at_;  // its pointer in the file
    nlohmann::json object_;
};

}  // namespace orrery::models
