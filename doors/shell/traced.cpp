#include "doors/shell/traced.hpp"

#include <algorithm>

namespace orrery::doors::shell {

Traced Traced::script(std::string_view text) {
    Traced result;
    std::uint32_t line = 1;
    for (const char c : text) {
        // Marks and carriage returns have no place in a script: neither may be forged or end a word.
        if (c != '\r') result.add(c == mark_begin || c == mark_end || c == '\0' ? ' ' : c, line);
        if (c == '\n') ++line;
    }
    return result;
}

Traced Traced::part(std::size_t from, std::size_t count) const {
    Traced result;
    if (from >= size()) return result;
    const std::size_t taken = std::min(count, size() - from);
    result.text_ = text_.substr(from, taken);
    const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(from);
    result.lines_.assign(begin, begin + static_cast<std::ptrdiff_t>(taken));
    return result;
}

void Traced::add(const Traced& more) {
    text_ += more.text_;
    lines_.insert(lines_.end(), more.lines_.begin(), more.lines_.end());
}

Traced unknown(std::string_view name, std::uint32_t line) { return {mark_begin + std::string(name) + mark_end, line}; }

bool has_unknown(std::string_view text) { return text.find(mark_begin) != text.npos; }

std::string first_unknown(std::string_view text) {
    const std::size_t begin = text.find(mark_begin);
    if (begin == text.npos) return "";
    const std::size_t end = text.find(mark_end, begin);
    return std::string(text.substr(begin + 1, end == text.npos ? end : end - begin - 1));
}

std::string without_unknowns(std::string_view text) {
    std::string result;
    bool inside = false;
    for (const char c : text) {
        if (c == mark_begin) inside = true;
        if (!inside) result += c;
        if (c == mark_end) inside = false;
    }
    return result;
}

}  // namespace orrery::doors::shell
