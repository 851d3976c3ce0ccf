#include "doors/convert.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

namespace orrery::doors {

namespace {

using Json = nlohmann::ordered_json;
using documents::Kind;

constexpr double largest_exact = 9007199254740992;  // 2^53

bool in_range(const documents::Key& key, double number) { return number >= key.min && number <= key.max; }

std::optional<Json> named(const documents::Key& key, const Json& value) {
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    for (const documents::Word& word : key.words)
        if (same_word(word.name, text)) return Json(std::string(word.name));
    return std::nullopt;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b,
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<std::uint64_t> whole_number(const Json& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    if (value.is_number_integer())
        return value.get<std::int64_t>() >= 0 ? std::optional(value.get<std::uint64_t>()) : std::nullopt;
    if (value.is_number_float()) {
        const double number = value.get<double>();
        const bool whole = number >= 0 && number < largest_exact && std::floor(number) == number;
        return whole ? std::optional(static_cast<std::uint64_t>(number)) : std::nullopt;
    }
    if (!value.is_string()) return std::nullopt;
    std::string digits = value.get<std::string>();
    std::erase(digits, '_');  // Python reads 220_000 as a number
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size() ? std::optional(number) : std::nullopt;
}

std::optional<double> real_number(const Json& value) {
    if (value.is_number()) return value.get<double>();
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool sound = error == std::errc{} && end == text.data() + text.size() && std::isfinite(number);
    return sound ? std::optional(number) : std::nullopt;
}

std::optional<bool> truth(const Json& value) {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number()) return value.get<double>() != 0;
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    if (same_word(text, "true") || text == "1") return true;
    if (same_word(text, "false") || text == "0") return false;
    return std::nullopt;
}

std::optional<Json> converted(const documents::Key& key, const Json& value) {
    switch (key.kind) {
        case Kind::boolean: {
            const auto known = truth(value);
            return known ? std::optional<Json>(*known) : std::nullopt;
        }
        case Kind::integer: {
            const auto number = whole_number(value);
            return number && in_range(key, static_cast<double>(*number)) ? std::optional<Json>(*number) : std::nullopt;
        }
        case Kind::number: {
            const auto number = real_number(value);
            return number && in_range(key, *number) ? std::optional<Json>(*number) : std::nullopt;
        }
        case Kind::choice: return named(key, value);
        case Kind::text:
            if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value;
            return std::nullopt;
        default: return value;
    }
}

}  // namespace orrery::doors
