// A table with one value for each enumerator: one too few or too many does not compile.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace orrery {

namespace detail {

/// The compiler writes the name of an enumerator where there is one, else a cast: "(Colour)7" or "7".
template <auto value>
consteval bool is_enumerator() {
    constexpr std::string_view key = "value = ", function = __PRETTY_FUNCTION__;
    constexpr char first = function[function.rfind(key) + key.size()];
    return first != '(' && first != '-' && (first < '0' || first > '9');
}

template <class Enum, std::size_t from>
consteval std::size_t count_enumerators() {
    if constexpr (is_enumerator<static_cast<Enum>(from)>())
        return count_enumerators<Enum, from + 1>();
    else
        return from;
}

}  // namespace detail

/// How many enumerators an enumeration has whose values are 0, 1, 2, ...
template <class Enum>
requires std::is_enum_v<Enum>
inline constexpr std::size_t enumerators = detail::count_enumerators<Enum, 0>();

/// Values in the order of the enumerators.
template <class Enum, class Value>
class EnumTable {
public:
    template <class... Values>
    constexpr EnumTable(Values... values) : values_{Value(values)...} {
        static_assert(sizeof...(Values) == enumerators<Enum>, "the table has one value for each enumerator");
    }

    /// Throws std::out_of_range for what is no enumerator, such as a number read from a file and cast.
    [[nodiscard]] constexpr const Value& operator[](Enum key) const {
        const auto index = static_cast<std::size_t>(key);
        if (index >= size()) throw std::out_of_range("no such enumerator");
        return values_[index];
    }

    /// The first enumerator of a value.
    [[nodiscard]] constexpr std::optional<Enum> find(const Value& value) const {
        for (std::size_t i = 0; i < size(); ++i)
            if (values_[i] == value) return static_cast<Enum>(i);
        return std::nullopt;
    }

    [[nodiscard]] constexpr auto begin() const { return values_.begin(); }
    [[nodiscard]] constexpr auto end() const { return values_.end(); }
    [[nodiscard]] static constexpr std::size_t size() { return enumerators<Enum>; }

private:
    std::array<Value, enumerators<Enum>> values_;
};

/// Names of an enumeration's values, for people and files.
template <class Enum>
using EnumNames = EnumTable<Enum, std::string_view>;

}  // namespace orrery
