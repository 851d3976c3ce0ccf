// One object of a document, read key by key: types, ranges and units are checked against its section's keys, and every
// message carries file, pointer, value and remedy.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "documents/section.hpp"

namespace orrery::documents {

/// A JSON object whose spellings have been resolved. Asking for a name that the section lacks, or as another kind than
/// the section says, throws std::logic_error: a mistake of the program, not of the file. The section must outlive the
/// reader.
class Reader {
public:
    /// Throws Error when value is no object, has an unknown key, or gives one key in two spellings, and when a
    /// required key is missing.
    Reader(const nlohmann::json& value, const Section& section, std::string file);
    /// at: pointer of the object, where the section does not say it.
    Reader(const nlohmann::json& value, const Section& section, std::string file, std::string at);

    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] bool empty() const;

    /// An object inside this one; an empty one when the key is absent.
    [[nodiscard]] Reader object(std::string_view name, const Section& section) const;
    /// The objects of a list; none when the key is absent.
    [[nodiscard]] std::vector<Reader> objects(std::string_view name, const Section& section) const;
    /// What is nested there; nullptr when the key is absent. It lives as long as the reader or a copy of it.
    [[nodiscard]] const nlohmann::json* nested(std::string_view name) const;
    /// What stands under a key of any kind that has settings; nothing when it is absent.
    [[nodiscard]] std::optional<Setting> setting(std::string_view name) const;
    [[nodiscard]] std::string text(std::string_view name, std::string_view fallback = "") const;
    [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
    [[nodiscard]] std::vector<double> numbers(std::string_view name) const;
    /// As many as the key says; empty when absent.
    [[nodiscard]] std::vector<std::uint64_t> integers(std::string_view name) const;
    /// A text stands under the name "", the texts of an object under their own.
    [[nodiscard]] std::map<std::string, std::string> named_texts(std::string_view name) const;
    [[nodiscard]] bool boolean(std::string_view name, bool fallback) const;
    [[nodiscard]] std::uint64_t integer(std::string_view name, std::uint64_t fallback = 0) const;
    [[nodiscard]] std::uint32_t integer32(std::string_view name, std::uint32_t fallback = 0) const;
    [[nodiscard]] double number(std::string_view name, double fallback = 0) const;
    /// The word of the section that the value is.
    [[nodiscard]] std::optional<Word> choice(std::string_view name) const;
    [[nodiscard]] std::string choice(std::string_view name, std::string_view fallback) const;
    [[nodiscard]] std::uint64_t bytes(std::string_view name, std::uint64_t fallback = 0) const;
    [[nodiscard]] double bytes_per_second(std::string_view name, double fallback = 0) const;
    [[nodiscard]] double tokens(std::string_view name, double fallback = 0) const;
    [[nodiscard]] double seconds(std::string_view name, double fallback = 0) const;

    /// Where the key stands in the file, as the user spelled it; where it would stand when absent.
    [[nodiscard]] std::string pointer(std::string_view name) const;
    /// Where the object itself stands.
    [[nodiscard]] const std::string& pointer() const { return at_; }
    [[nodiscard]] const std::string& file() const { return file_; }

private:
    struct Entry;
    using Entries = std::map<std::string, Entry, std::less<>>;  ///< by the section's name
    void resolve(const std::string& spelling, const nlohmann::json& value);
    void check_required() const;
    [[nodiscard]] const Key& key(std::string_view name, Kind kind) const;
    [[nodiscard]] const nlohmann::json* find(std::string_view name) const;
    [[nodiscard]] std::string short_text(const Key& key, const nlohmann::json& value) const;
    template <class Parse>
    [[nodiscard]] double quantity(const Key& key, const nlohmann::json& value, std::string_view example,
                                  Parse parse) const;
    [[nodiscard]] double in_range(const Key& key, double number, const nlohmann::json& value) const;
    [[noreturn]] void refuse(std::string_view name, const std::string& message, const std::string& hint) const;

    std::string file_;
    const Section* section_;
    std::string at_;
    std::shared_ptr<Entries> entries_;  ///< of all copies; none changes them once it is made
};

/// "300B", "1.5 T", "2e9" -> a count; k, M, B (or G) and T are powers of 1000. Throws Error.
double parse_count(std::string_view text);

}  // namespace orrery::documents
