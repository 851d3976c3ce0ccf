#include "tests/code/scanner.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

namespace orrery::code {

namespace {

namespace fs = std::filesystem;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool left_out(const fs::path& path) {
    const std::string name = path.filename().string();
    const bool ours = name == ".ci" || name == ".clang-tidy" || name == ".clang-format" || name == ".gitignore";
    return (name.starts_with('.') && !ours) || name.starts_with("build");
}

/// End of the literal or comment that begins at text[at]; at itself when none begins there.
std::size_t end_of_opaque(std::string_view text, std::size_t at) {
    const auto after = [&](std::string_view closing, std::size_t from) {
        const std::size_t found = text.find(closing, from);
        return found == text.npos ? text.size() : found + closing.size();
    };
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("//")) return std::min(text.find('\n', at), text.size());
    if (rest.starts_with("/*")) return after("*/", at + 2);
    if (rest.starts_with("R\"") && (at == 0 || !is_word(text[at - 1]))) {
        const std::size_t open = text.find('(', at);
        if (open == text.npos) return text.size();
        return after(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
    }
    const char quote = text[at];
    const bool separator = quote == '\'' && at > 0 && std::isxdigit(static_cast<unsigned char>(text[at - 1])) != 0;
    if ((quote != '"' && quote != '\'') || separator) return at;
    for (std::size_t i = at + 1; i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == quote)
            return i + 1;
    }
    return text.size();
}

/// Lines that begin with '#', with their continuations, blanked.
std::string without_directives(std::string code) {
    bool directive = false, fresh = true, continued = false;
    for (char& c : code) {
        if (fresh && c == '#') directive = true;
        if (c == '\n') {
            directive = directive && continued;
            fresh = true;
            continued = false;
            continue;
        }
        if (c != ' ' && c != '\t') fresh = false;
        continued = c == '\\';
        if (directive) c = ' ';
    }
    return code;
}

std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text) {
        const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
        if (!space)
            line += c;
        else if (!line.empty() && line.back() != ' ')
            line += ' ';
    }
    if (line.ends_with(' ')) line.pop_back();
    return line;
}

/// head without a leading "template <...>", however nested.
std::string_view without_template(std::string_view head) {
    while (head.starts_with("template")) {
        std::size_t at = head.find('<');
        if (at == head.npos) return head;
        for (int depth = 0; at < head.size(); ++at) {
            depth += head[at] == '<' ? 1 : head[at] == '>' ? -1 : 0;
            if (depth == 0) break;
        }
        head.remove_prefix(std::min(at + 1, head.size()));
        while (head.starts_with(' ')) head.remove_prefix(1);
    }
    return head;
}

/// Whether the brace after head opens a function or lambda: "int f(int x) const", "[&]", "A(): a(1)".
bool opens_function(std::string_view head) {
    head = without_template(head);
    static const std::regex qualifiers(
        "(const|noexcept|override|final|mutable|constexpr|&&?|try| )*(requires .*|-> .*)?");
    const std::size_t close = head.find_last_of(")]");
    if (close == head.npos) return false;
    const std::string tail(head.substr(close + 1));
    return head.rfind(") -> ") != head.npos || std::regex_match(tail, qualifiers);
}

}  // namespace

std::vector<SourceFile> read_project(const fs::path& root) {
    std::vector<SourceFile> files;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
        if (left_out(it->path())) {
            it.disable_recursion_pending();
        } else if (it->is_regular_file() && !it->is_symlink()) {
            std::string text = read(it->path());
            if (text.find('\0') == text.npos)
                files.push_back({it->path().lexically_relative(root).generic_string(), std::move(text)});
        }
    }
    std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return files;
}

std::string code_only(std::string_view text) {
    std::string code(text);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = end_of_opaque(text, at);
        for (std::size_t i = at; i < end; ++i)
            if (code[i] != '\n') code[i] = ' ';
        at = std::max(end, at + 1);
    }
    return code;
}

std::vector<Include> includes_of(std::string_view text) {
    static const std::regex pattern(R"(^\s*#\s*include\s*(["<])([^">]+)[">].*)");
    const std::string code = code_only(text);
    std::vector<Include> includes;
    std::size_t line = 1;
    for (std::size_t begin = 0; begin < text.size(); ++line) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string raw(text.substr(begin, end - begin));
        const std::size_t hash = raw.find('#');
        std::smatch match;
        if (hash != raw.npos && code[begin + hash] == '#' && std::regex_match(raw, match, pattern))
            includes.push_back({match[2].str(), match[1].str() == "\"", line});
        begin = end + 1;
    }
    return includes;
}

std::vector<Function> functions_of(std::string_view text) {
    const std::string code = without_directives(code_only(text));
    std::vector<Function> found;
    std::vector<bool> open;  // one entry a brace: whether it is a function's
    std::vector<std::string> heads{""};
    std::size_t line = 1, begin_line = 0;
    std::string function_head;
    const auto in_function = [&open] { return std::find(open.begin(), open.end(), true) != open.end(); };
    for (const char c : code) {
        if (c == '\n') ++line;
        if (c == '{') {
            const std::string head = one_line(heads.back());
            const bool function = !in_function() && opens_function(head);
            if (function) begin_line = line, function_head = head;
            open.push_back(function);
            heads.emplace_back();
        } else if (c == '}') {
            if (open.empty()) throw std::runtime_error("a closing brace without an opening one");
            const bool function = open.back();
            if (function) found.push_back({function_head, begin_line, line > begin_line ? line - begin_line - 1 : 0});
            open.pop_back();
            heads.pop_back();
            // "A() : a{1} {" and "f(B b = {}) {": the braces of a value are part of the head that goes on.
            const bool value = !function && heads.back().find_first_of("=(") != std::string::npos;
            heads.back() = value ? heads.back() + "()" : "";
        } else if (c == ';') {
            heads.back().clear();
        } else {
            heads.back() += c;
        }
    }
    if (!open.empty()) throw std::runtime_error("an opening brace without a closing one");
    return found;
}

}  // namespace orrery::code
