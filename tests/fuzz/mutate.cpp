#include "tests/fuzz/mutate.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "tests/fuzz/mutate_json.hpp"
#include "tests/fuzz/mutate_messages.hpp"

namespace orrery::fuzz {

namespace {

std::size_t below(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines(1);
    for (const char c : text) {
        lines.back() += c;
        if (c == '\n') lines.emplace_back();
    }
    return lines;
}

bool in_a_word(char c) { return c != ' ' && c != '\n' && c != ',' && c != '"' && c != '=' && c != '\t'; }

/// Begin and end of a word of the line; both the same where it has none.
std::pair<std::size_t, std::size_t> word_of(const std::string& line, Random& random) {
    std::vector<std::pair<std::size_t, std::size_t>> words;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (!in_a_word(line[i])) continue;
        const std::size_t begin = i;
        while (i < line.size() && in_a_word(line[i])) ++i;
        words.emplace_back(begin, i);
    }
    return words.empty() ? std::pair{line.size(), line.size()} : words[below(random, words.size())];
}

constexpr std::string_view odd_words[] = {
    "0",      "-1",     "1",   "2",        "7",    "255",   "65536",   "4294967296", "18446744073709551616",
    "1e308",  "1e-320", "nan", "inf",      "0x10", "node0", "node1.1", "leaf0",      "100 Gb/s",
    "0 Gb/s", "1 us",   "N/A", "\xC3\xA9", "\xFF", "#",     "<",       ">",          "/>"};

std::string mutated_lines(const std::string& input, Random& random) {
    std::vector<std::string> lines = lines_of(input);
    const std::size_t at = below(random, lines.size()), other = below(random, lines.size());
    const auto place = [&](std::size_t index) { return lines.begin() + static_cast<std::ptrdiff_t>(index); };
    switch (below(random, 6)) {
        case 0: lines.erase(place(at)); break;
        case 1: lines.insert(place(at), std::string(lines[other])); break;
        case 2: std::swap(lines[at], lines[other]); break;
        default: {
            const auto [begin, end] = word_of(lines[at], random);
            const auto [from, to] = word_of(lines[other], random);
            const std::string word = below(random, 2) == 0
                                         ? lines[other].substr(from, to - from)
                                         : std::string(odd_words[below(random, std::size(odd_words))]);
            lines[at].replace(begin, end - begin, word);
        }
    }
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
}

/// Nothing where the text has not that form.
std::optional<std::string> mutated_as(Form form, const std::string& text, Random& random) {
    switch (form) {
        case Form::lines: return mutated_lines(text, random);
        case Form::messages: return mutated_messages(text, random);
        case Form::json: break;
    }
    return mutated_json(text, random);
}

}  // namespace

std::string with_other_bytes(std::string input, Random& random) {
    const std::size_t at = below(random, input.size() + 1), length = 1 + below(random, 8);
    switch (below(random, 4)) {
        case 0:
            if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(random, 8)));
            break;
        case 1: input.insert(at, 1, static_cast<char>(below(random, 256))); break;
        case 2: input.erase(at, length); break;
        default: input.insert(at, input.substr(below(random, input.size() + 1), length));
    }
    return input;
}

std::string mutated(Form form, const std::string& input, Random& random) {
    std::string text = input;
    for (std::size_t left = 1 + below(random, 4); left > 0; --left) {
        auto changed = below(random, 12) == 0 ? std::nullopt : mutated_as(form, text, random);
        text = changed ? std::move(*changed) : with_other_bytes(std::move(text), random);
    }
    return text;
}

std::string spliced(Form form, const std::string& into, const std::string& from, Random& random) {
    auto joined = form == Form::json       ? spliced_json(into, from, random)
                  : form == Form::messages ? spliced_messages(into, from, random)
                                           : std::nullopt;
    if (joined) return std::move(*joined);
    std::vector<std::string> lines = lines_of(into);
    const std::vector<std::string> others = lines_of(from);
    for (std::size_t left = 1 + below(random, 4); left > 0; --left)
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(random, lines.size() + 1)),
                     others[below(random, others.size())]);
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
}

}  // namespace orrery::fuzz
