// A JSON value and where it stands, read by type: for documents that programs write, whose keys are no settings.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace orrery::documents {

/// Everything that it refuses it throws as Error with the file, the pointer, what is wrong and the remedy. The JSON
/// value must outlive it.
class Value {
public:
    /// remedy: for whoever has such a file, as in "calibrate/README.md describes the profile format".
    Value(const nlohmann::json& value, std::string file, std::string remedy, std::string pointer = "");

    /// Refuses what is no object, and keys other than these, naming the nearest.
    const Value& only(std::span<const std::string_view> keys) const;
    const Value& only(std::initializer_list<std::string_view> keys) const {
        return only(std::span<const std::string_view>(keys.begin(), keys.size()));
    }
    /// Whether it is an object with that key.
    [[nodiscard]] bool has(std::string_view key) const;
    [[nodiscard]] Value at(std::string_view key) const;
    /// Of an object whose keys are names.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> entries() const;

    /// Of a list.
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] Value at(std::size_t index) const;
    [[nodiscard]] std::vector<Value> list() const;
    [[nodiscard]] std::vector<double> numbers() const;
    [[nodiscard]] std::vector<std::uint32_t> counts() const;
    /// Refuses a list that is shorter or longer than the table it is a column of: a truncated file.
    void expect_size(std::size_t rows) const;

    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool boolean() const;
    /// A finite number, not below `least`.
    [[nodiscard]] double number(double least = std::numeric_limits<double>::lowest()) const;
    /// A whole number from 0 to `most`.
    [[nodiscard]] std::uint64_t count(std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
    [[nodiscard]] std::uint32_t count32() const;
    [[nodiscard]] bool is_null() const;

    /// read(text()), as of the name of an enumeration; its Error gets the place.
    template <class Read>
    [[nodiscard]] auto named(Read read) const {
        try {
            return read(text());
        } catch (const Error& error) {
            if (!error.pointer().empty()) throw;
            fail(error.message(), error.hint());
        }
    }

    [[nodiscard]] const nlohmann::json& json() const { return *value_; }
    [[nodiscard]] const std::string& pointer() const { return pointer_; }
    [[nodiscard]] const std::string& file() const { return file_; }
    /// hint: the remedy when empty.
    [[noreturn]] void fail(std::string message, std::string hint = "") const;

private:
    const nlohmann::json* value_;
    std::string file_, remedy_, pointer_;
};

}  // namespace orrery::documents
