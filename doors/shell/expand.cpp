#include "doors/shell/expand.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "doors/shell/arithmetic.hpp"

namespace orrery::doors::shell {

namespace {

constexpr int most_depth = 40;

bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// What a dollar stands for: one text, or the elements of a list.
struct Value {
    std::vector<Traced> parts = {};
    bool list = false;  ///< elements stay apart even in double quotes
    bool set = true;
};

Value one(Traced text) { return {.parts = {std::move(text)}}; }
Value unset(std::string_view name, std::uint32_t line) { return {.parts = {unknown(name, line)}, .set = false}; }

bool is_empty(const Value& value) {
    return std::ranges::all_of(value.parts, [](const Traced& part) { return without_unknowns(part.text()).empty(); });
}

class Expander {
public:
    Expander(const Environment& environment, bool splits, int depth)
        : environment_(environment), splits_(splits), depth_(depth) {
        if (depth > most_depth)
            throw Error("", "", "expansions are nested too deeply", "give the arguments themselves, after --");
    }

    std::vector<Traced> expand(const Traced& source) {
        for (std::size_t i = 0; i < source.size();) {
            const char c = source.at(i);
            const std::size_t end = skip(source, i);
            if (c == '\\')
                escaped(source, i);
            else if (c == '\'')
                literal(source.part(i + 1, end - i - (source.at(end - 1) == '\'' ? 2 : 1)));
            else if (c == '"')
                quoted(source.part(i + 1, end - i - (source.at(end - 1) == '"' ? 2 : 1)));
            else if (c == '`')
                put(one(unknown(some_command, source.line(i))), false);
            else if (c == '$') {
                i = dollar(source, i, false);
                continue;
            } else if (c == mark_begin)
                literal(source.part(i, end - i));
            else
                plain(c, source.line(i));
            i = end;
        }
        finish();
        return std::move(fields_);
    }

private:
    void plain(char c, std::uint32_t line) {
        current_.add(c, line);
        begun_ = true;
    }

    void literal(const Traced& text) {
        current_.add(text);
        begun_ = true;
    }

    void escaped(const Traced& source, std::size_t i) {
        if (source.at(i + 1) != '\n' && i + 1 < source.size()) plain(source.at(i + 1), source.line(i + 1));
    }

    void quoted(const Traced& inside) {
        // "${LIST[@]}" of an empty list is no word at all.
        begun_ = begun_ || inside.text().find('@') == std::string::npos;
        for (std::size_t i = 0; i < inside.size();) {
            const char c = inside.at(i);
            if (c == '\\' && std::string_view("$`\"\\\n").find(inside.at(i + 1)) != std::string_view::npos) {
                escaped(inside, i);
                i += 2;
            } else if (c == '$') {
                i = dollar(inside, i, true);
            } else if (c == '`') {
                put(one(unknown(some_command, inside.line(i))), true);
                i = skip(inside, i);
            } else if (c == mark_begin) {
                literal(inside.part(i, skip(inside, i) - i));
                i = skip(inside, i);
            } else {
                plain(c, inside.line(i));
                ++i;
            }
        }
    }

    void finish() {
        if (begun_) {
            environment_.spend(current_.size() + 1);
            fields_.push_back(std::exchange(current_, {}));
        }
        begun_ = false;
    }

    /// Puts a value in: its blanks separate words unless it is quoted.
    void put(const Value& value, bool in_quotes) {
        bool first = true;
        for (const Traced& part : value.parts) {
            environment_.spend(part.size() + 1);
            if (!std::exchange(first, false)) {
                if (splits_ && (value.list || !in_quotes))
                    finish();
                else
                    plain(' ', part.line());
            }
            if (in_quotes || !splits_) {
                literal(part);
                continue;
            }
            for (std::size_t i = 0; i < part.size(); ++i) {
                if (is_blank(part.at(i)))
                    finish();
                else
                    plain(part.at(i), part.line(i));
            }
        }
    }

    /// The construct at the dollar; where it ends.
    std::size_t dollar(const Traced& source, std::size_t i, bool in_quotes) {
        const std::uint32_t line = source.line(i);
        const char next = source.at(i + 1);
        const std::size_t end = skip(source, i);
        if (next == '(' && source.at(i + 2) == '(') {
            const Traced inside = source.part(i + 3, end > i + 5 ? end - i - 5 : 0);
            put(one(number(inside, line)), in_quotes);
            return end;
        }
        if (next == '(') {
            put(one(unknown(some_command, line)), in_quotes);
            return end;
        }
        if (next == '{') {
            put(braces(source.part(i + 2, end > i + 3 ? end - i - 3 : 0), line), in_quotes);
            return end;
        }
        std::size_t stop = i + 1;
        while (std::isalnum(static_cast<unsigned char>(source.at(stop))) != 0 || source.at(stop) == '_') ++stop;
        if (std::isdigit(static_cast<unsigned char>(next)) != 0) stop = i + 2;  // $10 is $1 and a 0
        if (stop == i + 1 && next != '\0' && std::string_view("@*#?$!-").find(next) != std::string_view::npos) ++stop;
        if (stop == i + 1) {
            plain('$', line);
            return i + 1;
        }
        put(variable(source.text().substr(i + 1, stop - i - 1), "", line), in_quotes);
        return stop;
    }

    Traced number(const Traced& inside, std::uint32_t line) {
        const Number value = reckon(inside, environment_);
        return value ? Traced(std::to_string(*value), line) : unknown(missing_of(inside), line);
    }

    /// The name on which an expression hangs.
    std::string missing_of(const Traced& inside) const {
        const std::string& text = inside.text();
        for (std::size_t i = 0; i < text.size(); ++i) {
            std::size_t end = i;
            while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
                ++end;
            std::string name = text.substr(i, end - i);
            if (is_name(name)) {
                const Variable* const found = environment_.find(name);
                if (found == nullptr) return name;
                for (const Traced& value : found->values)
                    if (has_unknown(value.text())) return first_unknown(value.text());
            }
            i = std::max(i, end == i ? i : end - 1);
        }
        return std::string(some_expression);
    }

    Value variable(const std::string& name, std::string_view index, std::uint32_t line) const {
        const std::vector<Traced>& arguments = environment_.arguments;
        if (name == "@" || name == "*") return {.parts = arguments, .list = name == "@"};
        if (name == "#") return one(Traced(std::to_string(arguments.size()), line));
        if (std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
            std::size_t position = 0;
            const auto read = std::from_chars(name.data(), name.data() + name.size(), position);
            if (read.ec == std::errc{} && position > 0 && position <= arguments.size())
                return one(arguments[position - 1]);
        }
        const Variable* const found = environment_.find(name);
        if (found == nullptr)
            return index.empty() || name.empty() ? unset(name, line) : Value{.list = true, .set = false};
        if (index == "@" || index == "*") return {.parts = found->values, .list = index == "@"};
        std::size_t position = 0;
        if (!index.empty() && std::from_chars(index.data(), index.data() + index.size(), position).ec != std::errc{})
            return unset(some_expression, line);
        if (position >= found->values.size()) return one({});
        return one(found->values[position]);
    }

    /// ${...}
    Value braces(const Traced& inside, std::uint32_t line) {
        const std::string& text = inside.text();
        if (text.starts_with('#') && text.size() > 1) return count(text.substr(1), line);
        std::size_t end = 0;
        while (std::isalnum(static_cast<unsigned char>(inside.at(end))) != 0 || inside.at(end) == '_') ++end;
        if (end == 0 && !text.empty() && std::string_view("@*#?$!-").find(text.front()) != std::string_view::npos)
            end = 1;
        const std::string name = text.substr(0, end);
        if (name.empty() || (name == "!" && text.size() > 1)) return unset(some_expression, line);
        std::string index;
        if (inside.at(end) == '[') {
            const std::size_t close = std::min(text.find(']', end), text.size() - 1);
            index = text.substr(end + 1, close > end ? close - end - 1 : 0);
            end = close + 1;
        }
        const Value value = variable(name, index, line);
        return end >= text.size() ? value : changed(value, inside.part(end, text.size() - end), line);
    }

    Value count(const std::string& name, std::uint32_t line) const {
        const std::string plain_name = name.substr(0, name.find('['));
        const Variable* const found = environment_.find(plain_name);
        if (found == nullptr) return unset(plain_name, line);
        const std::size_t length = name.size() > plain_name.size() || found->values.empty()
                                       ? found->values.size()
                                       : found->values.front().size();
        return one(Traced(std::to_string(length), line));
    }

    /// ${NAME%pattern} and ${NAME#pattern}: without the shortest end, or beginning, that matches; doubled, the longest.
    Value cut(const Value& value, const Traced& rest, std::uint32_t line) {
        constexpr std::size_t longest_text = 4096;
        const bool back = rest.at(0) == '%', longest = rest.at(1) == rest.at(0);
        const std::vector<Traced> words =
            Expander(environment_, false, depth_ + 1).expand(rest.part(longest ? 2 : 1, rest.size()));
        const std::string pattern = words.empty() ? "" : words.front().text();
        Value result = value;
        for (Traced& part : result.parts) {
            const std::size_t size = part.size();
            if (has_unknown(part.text()) || has_unknown(pattern) || size > longest_text)
                return unset(some_expression, line);
            for (std::size_t i = 0; i <= size; ++i) {
                const std::size_t gone = longest ? size - i : i;
                const std::string text = part.text().substr(back ? size - gone : 0, gone);
                if (fnmatch(pattern.c_str(), text.c_str(), 0) != 0) continue;
                part = part.part(back ? 0 : gone, size - gone);
                break;
            }
        }
        return result;
    }

    /// ${NAME:-word} and its kin; other changes of the text itself are not worked out.
    Value changed(const Value& value, const Traced& rest, std::uint32_t line) {
        const bool colon = rest.at(0) == ':';
        const char op = rest.at(colon ? 1 : 0);
        const bool there = value.set && !(colon && is_empty(value));
        const auto word = [&] {
            const std::size_t from = colon ? 2 : 1;
            std::vector<Traced> parts = Expander(environment_, false, depth_ + 1).expand(rest.part(from, rest.size()));
            return parts.empty() ? one({}) : Value{.parts = std::move(parts)};
        };
        switch (op) {
            case '-':
            case '=': return there ? value : word();
            case '+': return there ? word() : one({});
            case '?': return value;
            case '%':
            case '#':
                if (colon || is_empty(value)) return value;
                return cut(value, rest, line);
            default: return is_empty(value) ? value : unset(some_expression, line);
        }
    }

    const Environment& environment_;
    bool splits_;
    int depth_;
    std::vector<Traced> fields_;
    Traced current_;
    bool begun_ = false;  ///< even an empty word is one once it has quotes
};

}  // namespace

std::vector<Traced> fields(const Word& word, const Environment& environment) {
    return Expander(environment, true, 0).expand(word);
}

Traced text(const Word& word, const Environment& environment) {
    std::vector<Traced> all = Expander(environment, false, 0).expand(word);
    return all.empty() ? Traced() : std::move(all.front());
}

Number reckon(const Traced& source, const Environment& environment) {
    const Traced expanded = text(source, environment);
    if (has_unknown(expanded.text())) return std::nullopt;
    // A variable may hold an expression: one more step is what scripts in practice need.
    const NumberOf number_of = [&](std::string_view name) -> Number {
        const Variable* const found = environment.find(name);
        if (found == nullptr || found->values.empty()) return std::nullopt;
        return evaluate(found->values.front().text(), [](std::string_view) { return Number{}; });
    };
    return evaluate(expanded.text(), number_of);
}

}  // namespace orrery::doors::shell
