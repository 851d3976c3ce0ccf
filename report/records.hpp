// A table once, for people and for programs: aligned text, CSV and JSON of the same rows.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/table.hpp"

namespace orrery::report {

/// What stands in a cell for programs: nothing, a truth, a number in SI units, or a text.
class Value {
public:
    Value() = default;
    template <class T>
    requires std::integral<T> || std::floating_point<T> Value(T number) {
        if constexpr (std::same_as<T, bool>)
            held_ = number;
        else if constexpr (std::integral<T>)
            held_ = static_cast<std::int64_t>(number);
        else
            held_ = static_cast<double>(number);
    }
    Value(std::string text) : held_(std::move(text)) {}
    Value(std::string_view text) : held_(std::string(text)) {}
    Value(const char* text) : held_(std::string(text)) {}

    [[nodiscard]] bool none() const { return std::holds_alternative<std::monostate>(held_); }
    [[nodiscard]] bool number() const { return held_.index() == 2 || held_.index() == 3; }
    [[nodiscard]] double as_double() const;
    /// For people; "-" for nothing.
    [[nodiscard]] std::string text() const;
    [[nodiscard]] nlohmann::ordered_json json() const;

private:
    std::variant<std::monostate, bool, std::int64_t, double, std::string> held_;
};

class Records {
public:
    struct Column {
        std::string key;                                ///< for programs: "memory_bytes"
        std::string title = {};                         ///< for people; "": the key
        std::function<std::string(double)> shown = {};  ///< how people read a number of it
        Table::Align align = Table::Align::left;        ///< of texts; numbers stand right
    };

    explicit Records(std::vector<Column> columns);
    /// Rows of objects of a document: a column for each key, in the order in which they come; those of objects within
    /// are "outer.inner", lists are texts of JSON.
    static Records of(const nlohmann::ordered_json& objects);

    /// As many values as columns; throws std::invalid_argument otherwise.
    Records& row(std::vector<Value> values);

    /// columns: of the terminal, 0: any.
    [[nodiscard]] std::string text(std::size_t columns = 0) const;
    /// A line of keys and a line a row, numbers to the last bit, nothing as an empty cell (csv_line).
    [[nodiscard]] std::string csv() const;
    /// A list of objects, nothing as null.
    [[nodiscard]] std::string json() const;
    [[nodiscard]] nlohmann::ordered_json objects() const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<Value>> rows_;
};

/// A line of a CSV file (RFC 4180, but that lines end with a newline alone): cells with commas, quotes or line ends are
/// quoted. A text that a spreadsheet would read as a formula (it begins with =, +, -, @, a tab or a carriage return,
/// and is no number) gets an apostrophe before it, as the pages' downloads do.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace orrery::report
