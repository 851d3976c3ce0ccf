// A reader of C++ that knows just enough to check the project's own sources: includes, and where
// functions begin and end. It works on the text alone, without a compiler.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::code {

struct SourceFile {
    std::string path;  ///< from the project's root, with '/'
    std::string text;
};

/// Text files under root, sorted by path: what is hidden (.git), is built (build*), or holds a NUL is left out.
std::vector<SourceFile> read_project(const std::filesystem::path& root);

/// The same text with the contents of comments, strings and characters blanked; newlines and
/// positions stay. Knows raw strings and digit separators.
std::string code_only(std::string_view text);

struct Include {
    std::string name;      ///< between the quotes or brackets
    bool quoted = false;   ///< "name" rather than <name>
    std::size_t line = 0;  ///< from 1
};
std::vector<Include> includes_of(std::string_view text);

struct Function {
    std::string head;            ///< its text before the brace, on one line
    std::size_t line = 0;        ///< of the opening brace, from 1
    std::size_t body_lines = 0;  ///< lines strictly between the braces
};
/// Functions at namespace and class scope, and lambdas in initialisers; what is nested in a function
/// counts as part of it. Throws std::runtime_error when the braces do not match.
std::vector<Function> functions_of(std::string_view text);

}  // namespace orrery::code
