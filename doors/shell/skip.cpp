// Where quotes and expansions end.
#include <cctype>

#include "base/error.hpp"
#include "doors/shell/syntax.hpp"

namespace orrery::doors::shell {

namespace {

constexpr int most_depth = 40;

std::size_t skip_single(const Traced& source, std::size_t i) {
    const std::size_t end = source.text().find('\'', i + 1);
    return end == std::string::npos ? source.size() : end + 1;
}

std::size_t skip_backticks(const Traced& source, std::size_t i) {
    for (++i; i < source.size(); ++i) {
        if (source.at(i) == '\\')
            ++i;
        else if (source.at(i) == '`')
            return i + 1;
    }
    return source.size();
}

std::size_t skip_double(const Traced& source, std::size_t i, int depth) {
    for (++i; i < source.size();) {
        const char c = source.at(i);
        if (c == '"') return i + 1;
        if (c == '\\')
            i += 2;
        else if (c == '$' || c == '`')
            i = skip(source, i, depth + 1);
        else
            ++i;
    }
    return source.size();
}

/// To the bracket that closes the one at i.
std::size_t skip_brackets(const Traced& source, std::size_t i, char open, char close, int depth) {
    int level = 0;
    while (i < source.size()) {
        const char c = source.at(i);
        if (c == open) ++level;
        if (c == close && --level == 0) return i + 1;
        i = c == open || c == close ? i + 1 : skip(source, i, depth + 1);
    }
    return source.size();
}

}  // namespace

std::size_t skip(const Traced& source, std::size_t i, int depth) {
    if (depth > most_depth)
        throw Error("", "", "quotes and expansions are nested too deeply", "give the arguments themselves, after --");
    switch (source.at(i)) {
        case mark_begin: {
            const std::size_t end = source.text().find(mark_end, i);
            return end == std::string::npos ? source.size() : end + 1;
        }
        case '\\': return i + 2 < source.size() ? i + 2 : source.size();
        case '\'': return skip_single(source, i);
        case '"': return skip_double(source, i, depth);
        case '`': return skip_backticks(source, i);
        case '$':
            if (source.at(i + 1) == '(') return skip_brackets(source, i + 1, '(', ')', depth);
            if (source.at(i + 1) == '{') return skip_brackets(source, i + 1, '{', '}', depth);
            return i + 1;
        default: return i + 1;
    }
}

bool is_name(std::string_view text) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
    for (const unsigned char c : text)
        if (std::isalnum(c) == 0 && c != '_') return false;
    return true;
}

}  // namespace orrery::doors::shell
