// A set of an enumeration's values, and its text: names between commas.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery {

/// Bits: an unsigned type with a bit for each enumerator.
template <class Enum, class Bits>
class EnumSet {
public:
    constexpr EnumSet() = default;
    constexpr EnumSet(Enum value) : bits_(static_cast<Bits>(1U << static_cast<unsigned>(value))) {}

    [[nodiscard]] constexpr bool has(Enum value) const { return meets(EnumSet(value)); }
    [[nodiscard]] constexpr bool meets(EnumSet other) const { return (bits_ & other.bits_) != 0; }
    [[nodiscard]] constexpr bool holds(EnumSet other) const { return (bits_ & other.bits_) == other.bits_; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    /// A number for each set, 0 for none.
    [[nodiscard]] constexpr Bits bits() const { return bits_; }
    constexpr EnumSet& operator|=(EnumSet other) {
        bits_ |= other.bits_;
        return *this;
    }
    friend constexpr EnumSet operator|(EnumSet a, EnumSet b) { return a |= b; }
    friend constexpr EnumSet operator&(EnumSet a, EnumSet b) {
        EnumSet both;
        both.bits_ = a.bits_ & b.bits_;
        return both;
    }
    [[nodiscard]] constexpr EnumSet without(EnumSet other) const {
        EnumSet rest;
        rest.bits_ = static_cast<Bits>(bits_ & ~other.bits_);
        return rest;
    }
    constexpr bool operator==(const EnumSet&) const = default;

private:
    Bits bits_ = 0;
};

/// "layernorm,moe_act": of names, one for each enumerator, those of the set.
template <class Enum, class Bits, std::size_t Count>
std::string set_to_text(EnumSet<Enum, Bits> set, const std::array<std::string_view, Count>& names) {
    std::string text;
    for (std::size_t i = 0; i < Count; ++i)
        if (set.has(static_cast<Enum>(i))) text.append(text.empty() ? "" : ",").append(names.at(i));
    return text;
}

/// Names between commas or blanks, in any order; nothing where one is unknown, or there is none.
template <class Set, class Enum, std::size_t Count>
std::optional<Set> set_named(std::string_view text, const std::array<std::string_view, Count>& names) {
    constexpr std::string_view between = " ,";
    Set named;
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
        if (text.empty()) break;
        const std::string_view word = text.substr(0, text.find_first_of(between));
        const auto* const known = std::ranges::find(names, word);
        if (known == names.end()) return std::nullopt;
        named |= static_cast<Enum>(known - names.begin());
        text.remove_prefix(word.size());
    }
    if (named.empty()) return std::nullopt;
    return named;
}

}  // namespace orrery
