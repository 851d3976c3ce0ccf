// One published measurement, and safe access to its fields: whatever a file holds, a row ends as predicted or as
// skipped with a reason.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace orrery::validate {

/// Why a row is not predicted. Reasons are counted, so they are short, stable and free of the row's own numbers:
/// "sharding ZeRO-3 is not supported".
class Skip : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class Row {
public:
    /// fields: a JSON object. The flat form (model a string, measured a number beside its unit) is brought into the
    /// nested one here. index: position in the file, which names a row without an id.
    Row(std::string source, std::size_t index, nlohmann::json fields);

    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] const std::string& source() const { return source_; }
    /// "training_step" when the row does not say; a kind that is no text reads as "unknown".
    [[nodiscard]] const std::string& kind() const { return kind_; }
    [[nodiscard]] const nlohmann::json& fields() const { return *fields_; }

    /// The value at "gpus" or "model.layers"; nullptr when it is absent or null, that is, not published.
    /// Throws Skip when a part of the path is no object.
    [[nodiscard]] const nlohmann::json* find(std::string_view path) const;
    [[nodiscard]] bool has(std::string_view path) const { return find(path) != nullptr; }

    // Typed access: nullopt for not published; throws Skip("field of a wrong type: ...") for another type.
    [[nodiscard]] std::optional<std::string> text(std::string_view path) const;
    [[nodiscard]] std::optional<double> number(std::string_view path) const;
    /// A whole number from 1 to 2^31 - 1 (4.0 is whole); also throws Skip("field out of range: ...").
    [[nodiscard]] std::optional<std::uint32_t> count(std::string_view path) const;
    /// true, false, or a yes/no text as experiment tables print it ("Y", "N").
    [[nodiscard]] std::optional<bool> flag(std::string_view path) const;

    /// text() in lower case, at most 400 characters of it, "" when not published.
    [[nodiscard]] std::string words(std::string_view path) const;

private:
    std::string source_, id_, kind_;
    std::shared_ptr<const nlohmann::json> fields_;
};

/// What a reason quotes of a text: its first 40 characters, before a bracket, printable ASCII alone.
std::string label(std::string_view text);

/// Whether text holds word anywhere (both in lower case).
bool contains(std::string_view text, std::string_view word);

/// Whether a word of text (a run of letters and digits) begins with `word`: "bert-large" and "BertLarge" with "bert".
bool begins_word(std::string_view text, std::string_view word);

}  // namespace orrery::validate
