#include "planning/sweep/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.hpp"
#include "base/text.hpp"
#include "documents/message.hpp"

namespace orrery::planning {

namespace {

constexpr std::size_t most_values = 100'000;
constexpr const char* form = "write values between commas, or a range with its step: 1..8 x2, 100..400 Gb/s +100";

/// Takes the number that the text begins with; nothing where it begins with none.
std::optional<double> take_number(std::string_view& text) {
    double number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc{} || !std::isfinite(number)) return std::nullopt;
    text = trimmed(text.substr(static_cast<std::size_t>(end - text.data())));
    return number;
}

struct Range {
    double first = 0, last = 0, step = 0;
    bool multiplies = false;
    std::string unit;
};

[[noreturn]] void refuse(std::string_view text, const std::string& what, const std::string& remedy) {
    throw Error(fmt::format("\"{}\" {}", documents::printable(text), what), remedy);
}

/// "Gb/s x2" -> the step, and what is left before it.
std::string_view take_step(std::string_view rest, Range& range, std::string_view text, Stepless stepless) {
    const std::size_t blank = rest.rfind(' ');
    std::string_view word = blank == rest.npos ? rest : rest.substr(blank + 1);
    const char sign = word.empty() ? '\0' : word.front();
    std::optional<double> number;
    if (sign == 'x' || sign == '+') {
        word.remove_prefix(1);
        number = take_number(word);
    }
    if (!number || !word.empty()) {
        if (stepless == Stepless::refused) refuse(text, "is a range without a step", form);
        range.multiplies = true;
        range.step = 2;
        return rest;
    }
    range.multiplies = sign == 'x';
    range.step = *number;
    return trimmed(rest.substr(0, blank == rest.npos ? 0 : blank));
}

/// Nothing where the text is no range: a name, a path, a list of GPUs.
std::optional<Range> parse_range(std::string_view text, Stepless stepless) {
    const std::size_t dots = text.find("..");
    if (dots == text.npos) return std::nullopt;
    std::string_view left = trimmed(text.substr(0, dots)), right = trimmed(text.substr(dots + 2));
    const auto first = take_number(left);
    const auto last = take_number(right);
    if (!first || !last) return std::nullopt;
    Range range{*first, *last, 0, false, {}};
    const std::string_view unit = take_step(right, range, text, stepless);
    if (!left.empty() && left != unit)
        refuse(
            text,
            fmt::format("begins in \"{}\" and ends in \"{}\"", documents::printable(left), documents::printable(unit)),
            "give one unit, behind the second number: 100..800 Gb/s x2");
    range.unit = unit;
    return range;
}

void check(const Range& range, std::string_view text) {
    if (range.last < range.first)
        refuse(text, "is an empty range",
               fmt::format("begin with the smaller number: {:g}..{:g}", range.last, range.first));
    if (range.multiplies && (range.step <= 1 || range.first <= 0))
        refuse(text, "never ends", "multiply by more than 1, from a number above 0; or add: +1");
    if (!range.multiplies && range.step <= 0) refuse(text, "never ends", "add more than 0");
    const double count = range.multiplies ? std::log(range.last / range.first) / std::log(range.step)
                                          : (range.last - range.first) / range.step;
    if (count >= static_cast<double>(most_values))
        refuse(text, fmt::format("is about {:.3g} values, more than {}", count, most_values), "take a larger step");
}

std::string written(double number, const std::string& unit) {
    constexpr double exact = 9007199254740992;  // 2^53
    const bool whole = number == std::floor(number) && std::abs(number) < exact;
    std::string text = whole ? fmt::format("{:.0f}", number) : fmt::format("{:.12g}", number);
    return unit.empty() ? text : text + ' ' + unit;
}

void append(const Range& range, std::vector<std::string>& values) {
    constexpr double rounding = 1e-9;  // of steps that are no whole numbers
    for (std::uint32_t i = 0;; ++i) {
        const double number = range.multiplies ? range.first * std::pow(range.step, i) : range.first + range.step * i;
        if (number > range.last * (1 + rounding) && number > range.last) return;
        values.push_back(written(std::min(number, range.last), range.unit));
    }
}

/// Commas inside quotes and brackets separate nothing.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\\' && quoted) ++i;
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
        if (c != ',' || depth > 0) continue;
        parts.push_back(trimmed(text.substr(begin, i - begin)));
        begin = i + 1;
    }
    parts.push_back(trimmed(text.substr(std::min(begin, text.size()))));
    return parts;
}

}  // namespace

std::vector<std::string> parse_values(std::string_view text, Stepless stepless) {
    std::vector<std::string> values;
    for (const std::string_view part : split(text)) {
        if (part.empty()) refuse(text, trimmed(text).empty() ? "names no value" : "has an empty value", form);
        if (const auto range = parse_range(part, stepless)) {
            check(*range, part);
            append(*range, values);
        } else {
            values.emplace_back(part);
        }
        if (values.size() > most_values)
            refuse(text, fmt::format("names more than {} values", most_values), "name fewer");
    }
    return values;
}

}  // namespace orrery::planning
