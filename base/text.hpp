// Words for messages: lists, words of a shell, and the names that a misspelt one was probably meant to be.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// The parts of any range of strings, with the separator between them: {"a", "b"} -> "a, b".
template <class Strings>
std::string join(const Strings& parts, std::string_view separator = ", ") {
    std::string text;
    bool first = true;
    for (const auto& part : parts) {
        if (!first) text += separator;
        text += part;
        first = false;
    }
    return text;
}

/// The fewest insertions, deletions and replacements of one character and swaps of neighbours, no place being edited
/// twice (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The count names most like the wanted one, the likeliest first; equally likely ones keep their order.
/// Upper and lower case, and '-', '_' and ' ', count as the same; a name that begins with the wanted
/// text, or contains it, comes before any that merely resembles it.
std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string_view> names,
                                 std::size_t count = 3);

/// With its ASCII letters in lower case.
std::string lower(std::string_view text);

/// Without the blanks, tabs and carriage returns at both ends.
std::string_view trimmed(std::string_view text);

/// A word of a command line as a shell reads it again: quoted where it must be.
std::string shell_word(std::string_view word);

}  // namespace orrery
