#include "tests/code/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <set>

#include "tests/code/scanner.hpp"

namespace orrery::code {

namespace {

using Words = std::vector<std::string_view>;

struct Folder {
    std::string_view name;
    Words may_use;
};

/// Data flows one way: a folder may include itself and these.
const std::vector<Folder> folders{
    {"base", {}},
    {"documents", {"base"}},
    {"hardware", {"base"}},
    {"kernels", {"base"}},
    {"models", {"base", "documents", "kernels"}},
    {"topology", {"base", "hardware"}},
    {"strategies", {"base", "documents", "hardware", "kernels", "models"}},
    {"reliability", {"base", "documents", "hardware", "kernels", "models", "strategies"}},
    {"synchrony", {"base", "documents"}},
    {"scenarios",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony"}},
    {"calibrate", {"base", "documents", "hardware", "kernels"}},
    {"run", {"base", "documents", "kernels", "models", "strategies"}},
    {"sim",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony",
      "scenarios", "calibrate"}},
    {"planning",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony",
      "scenarios", "calibrate", "sim"}},
    {"validate",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony",
      "scenarios", "calibrate", "run", "sim"}},
    {"report",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony",
      "scenarios", "calibrate", "run", "sim", "planning", "validate"}},
    {"doors",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony",
      "scenarios"}},
    {"python",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony",
      "scenarios", "calibrate", "run", "sim", "planning", "validate", "report", "doors"}},
    {"cli",
     {"base", "documents", "hardware", "kernels", "models", "topology", "strategies", "reliability", "synchrony",
      "scenarios", "calibrate", "run", "sim", "planning", "validate", "report", "doors"}},
};

struct Door {
    std::string_view library;
    std::string_view headers;  ///< a regular expression, of the whole name
    Words folders;
    bool sources_too = true;  ///< false: only headers must keep out, since they are widely included
};

const std::vector<Door> doors{
    {"SimGrid", "(simgrid|xbt|smpi)/.*|simgrid\\.h", {"sim"}},
    {"Boost.Graph", "boost/graph/.*", {"topology", "models"}},
    {"CUDA, NCCL, MPI and BLAS",
     "(cuda|cublas|nccl|nvml|cudnn|mpi|cblas|openblas|dnnl|oneapi/|oneapi/dnnl).*",
     {"kernels", "emulated"}},  // tests/emulated has headers of its own under these names
    {"CLI11", "CLI/.*", {"cli"}},
    {"pybind11", "pybind11/.*|Python\\.h", {"python"}},
    {"tomlplusplus and yaml-cpp", "(toml\\+\\+|yaml-cpp)/.*", {"doors"}},
    {"SQLite", "sqlite3.*\\.h", {"doors", "fuzz"}},
    {"nlohmann/json.hpp (headers take json_fwd.hpp)",
     "nlohmann/json\\.hpp",
     {"base", "documents", "scenarios", "models", "planning", "validate", "doors"},
     false},
};

bool contains(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view first_part(std::string_view path) {
    const std::size_t slash = path.find('/');
    return slash == path.npos ? std::string_view{} : path.substr(0, slash);
}

/// The folder whose rules a file keeps: tests/sim/x.cpp keeps those of sim.
std::string_view folder_of(std::string_view path) {
    const std::string_view top = first_part(path);
    return top == "tests" ? first_part(path.substr(top.size() + 1)) : top;
}

const Folder* find_folder(std::string_view name) {
    const auto found = std::find_if(folders.begin(), folders.end(), [&](const Folder& f) { return f.name == name; });
    return found == folders.end() ? nullptr : &*found;
}

bool is_header(std::string_view path) { return path.ends_with(".hpp") || path.ends_with(".h"); }

bool is_code(std::string_view path) {
    if (path.ends_with(".md")) return false;
    return is_cpp(path) || path.ends_with(".cmake") || path.ends_with("CMakeLists.txt") || path.ends_with(".py") ||
           path.ends_with("Makefile") || path.starts_with("tools/") || path.starts_with(".ci/");
}

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::size_t characters(std::string_view line) {
    return static_cast<std::size_t>(
        std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 0x2; }));
}

/// One finding for each line that the pattern is found in.
Findings lines_matching(const SourceFile& file, const std::regex& pattern, std::string_view why) {
    Findings findings;
    const auto lines = lines_of(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::match_results<std::string_view::const_iterator> match;
        if (std::regex_search(lines[i].begin(), lines[i].end(), match, pattern))
            findings.push_back(fmt::format("{}:{}: {:?} {}", file.path, i + 1, match.str(), why));
    }
    return findings;
}

}  // namespace

bool is_cpp(std::string_view path) {
    return is_header(path) || path.ends_with(".cpp") || path.ends_with(".cc") || path.ends_with(".cu") ||
           path.ends_with(".cuh");
}

Findings folder_order(const SourceFile& file) {
    Findings findings;
    if (!is_cpp(file.path)) return findings;
    const Folder* const own = find_folder(first_part(file.path));
    for (const Include& include : includes_of(file.text)) {
        if (!include.quoted) continue;
        const std::string_view target = first_part(include.name);
        const bool ours = find_folder(target) != nullptr;
        if (!ours && (own != nullptr || target != "tests"))
            findings.push_back(fmt::format("{}:{}: \"{}\" does not begin with a folder of the project", file.path,
                                           include.line, include.name));
        else if (own != nullptr && target != own->name && !contains(own->may_use, target))
            findings.push_back(
                fmt::format("{}:{}: {} may not use {}", file.path, include.line, own->name, include.name));
    }
    return findings;
}

Findings library_doors(const SourceFile& file) {
    Findings findings;
    if (!is_cpp(file.path)) return findings;
    for (const Include& include : includes_of(file.text))
        for (const Door& door : doors) {
            if (!door.sources_too && !is_header(file.path)) continue;
            if (contains(door.folders, folder_of(file.path))) continue;
            if (!std::regex_match(include.name, std::regex(std::string(door.headers)))) continue;
            findings.push_back(fmt::format("{}:{}: <{}>: {} belongs in {}", file.path, include.line, include.name,
                                           door.library, fmt::join(door.folders, ", ")));
        }
    return findings;
}

Findings sizes(const SourceFile& file) {
    Findings findings;
    if (!is_code(file.path)) return findings;
    const auto lines = lines_of(file.text);
    if (lines.size() > most_file_lines)
        findings.push_back(fmt::format("{}: {} lines, more than {}", file.path, lines.size(), most_file_lines));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool recipe = file.path.ends_with("Makefile") && lines[i].starts_with('\t');
        if (lines[i].find('\t', recipe ? 1 : 0) != std::string_view::npos)
            findings.push_back(fmt::format("{}:{}: a tab", file.path, i + 1));
        if (characters(lines[i]) > most_columns)
            findings.push_back(
                fmt::format("{}:{}: {} columns, more than {}", file.path, i + 1, characters(lines[i]), most_columns));
    }
    if (!is_cpp(file.path)) return findings;
    for (const Function& function : functions_of(file.text))
        if (function.body_lines > most_function_lines)
            findings.push_back(fmt::format("{}:{}: a function of {} lines, more than {}: {}", file.path, function.line,
                                           function.body_lines, most_function_lines, function.head));
    return findings;
}

Findings headers(const SourceFile& file) {
    Findings findings;
    if (!is_header(file.path)) return findings;
    if (!file.text.starts_with("//")) findings.push_back(file.path + ":1: a header begins with what it is for");
    const auto lines = lines_of(file.text);
    if (std::find(lines.begin(), lines.end(), "#pragma once") == lines.end())
        findings.push_back(file.path + ":1: no #pragma once");
    return findings;
}

Findings leftovers(const SourceFile& file) {
    // Taken apart, so that this file passes.
    static const std::regex markers(
        "\\b(TO"
        "DO|FIX"
        "ME|X"
        "XX|HA"
        "CK)\\b");
    static const std::regex places(
        "(^|[^A-Za-z0-9_.~}*-])/(wo"
        "rk|ro"
        "ot|ho"
        "me)/[A-Za-z0-9_.]");
    Findings findings;
    if (file.path.starts_with("licenses/")) return findings;  // texts of others
    if (is_code(file.path) || file.path.ends_with(".md"))
        findings = lines_matching(file, markers, "marks unfinished work");
    const Findings paths = lines_matching(file, places, "is a path of one machine");
    findings.insert(findings.end(), paths.begin(), paths.end());
    return findings;
}

Findings folder_readmes(const std::vector<SourceFile>& files) {
    std::set<std::string_view> tops, described;
    for (const SourceFile& file : files) {
        const std::string_view top = first_part(file.path);
        if (top.empty() || top.starts_with('.')) continue;
        tops.insert(top);
        if (file.path == std::string(top) + "/README.md") described.insert(top);
    }
    Findings findings;
    for (const std::string_view top : tops)
        if (!described.contains(top)) findings.push_back(fmt::format("{}/: no README.md says what it is", top));
    return findings;
}

namespace {

/// As a word of its own: "plan" is none of "plan_fields".
bool has_word(std::string_view text, std::string_view word) {
    const auto part_of_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !part_of_word(text[at - 1])) && (end == text.size() || !part_of_word(text[end]))) return true;
    }
    return false;
}

}  // namespace

Findings readmes_name_headers(const std::vector<SourceFile>& files) {
    constexpr std::string_view end = ".hpp";
    Findings findings;
    for (const SourceFile& readme : files) {
        const std::string_view top = first_part(readme.path);
        if (top.empty() || top == "tests" || readme.path != std::string(top) + "/README.md") continue;
        for (const SourceFile& file : files) {
            const std::string_view name =
                std::string_view(file.path).substr(std::min(file.path.size(), top.size() + 1));
            if (first_part(file.path) != top || name.find('/') != std::string_view::npos || !name.ends_with(end))
                continue;
            const std::string_view stem = name.substr(0, name.size() - end.size());
            if (!has_word(readme.text, stem))
                findings.push_back(fmt::format("{}: {} is not in the folder's README.md", file.path, stem));
        }
    }
    return findings;
}

}  // namespace orrery::code
