// Text that remembers from which lines of a script it came, through variables, quotes and concatenation: so that a flag
// of a launch is found where its author wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::doors::shell {

class Traced {
public:
    Traced() = default;
    /// All of it from one line.
    Traced(std::string_view text, std::uint32_t line) : text_(text), lines_(text.size(), line) {}
    /// A whole script: counts its lines.
    static Traced script(std::string_view text);

    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] std::size_t size() const { return text_.size(); }
    [[nodiscard]] bool empty() const { return text_.empty(); }
    /// '\0' beyond the end.
    [[nodiscard]] char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
    /// Of a character; of the last one beyond the end; 0 where there is none.
    [[nodiscard]] std::uint32_t line(std::size_t i = 0) const {
        if (lines_.empty()) return 0;
        return lines_[i < lines_.size() ? i : lines_.size() - 1];
    }
    [[nodiscard]] Traced part(std::size_t from, std::size_t count) const;

    void add(char c, std::uint32_t line) {
        text_ += c;
        lines_.push_back(line);
    }
    void add(const Traced& more);

private:
    std::string text_;
    std::vector<std::uint32_t> lines_;
};

// What a script takes from where it runs (an unset variable, the output of a command) stands in expanded text as a mark
// with its name, so that only the flags whose values hang on it have to be asked for.

constexpr char mark_begin = '\x01', mark_end = '\x02';
/// What stands in a mark for the output of a command, and for an expression: no name that a variable can have.
constexpr std::string_view some_command = "(command)", some_expression = "(expression)";

/// The mark of a name, as a part of text.
Traced unknown(std::string_view name, std::uint32_t line);
bool has_unknown(std::string_view text);
/// The name of the first mark; "" where there is none.
std::string first_unknown(std::string_view text);
/// The text as a shell would see it: what is not set is empty.
std::string without_unknowns(std::string_view text);

}  // namespace orrery::doors::shell
