#include "tests/code/strategy_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace orrery::code {

namespace {

constexpr std::size_t table_cells = 6;

std::string trimmed(const std::string& text) {
    const std::size_t first = text.find_first_not_of(' ');
    return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, at);) parts.push_back(trimmed(part));
    return parts;
}

/// Of "| a | b |": a, b.
std::vector<std::string> cells_of(const std::string& line) {
    const std::string inside = line.substr(1, line.rfind('|') - 1);
    std::vector<std::string> cells = split(inside, '|');
    return cells;
}

bool is_row(const std::string& line) {
    return line.starts_with("| ") && !line.starts_with("| ---") && !line.starts_with("| strategy (key) |");
}

const SourceFile* file_named(const std::vector<SourceFile>& project, const std::string& path) {
    const auto found = std::ranges::find(project, path, &SourceFile::path);
    return found == project.end() ? nullptr : &*found;
}

/// "strategies/mesh_test.cpp:Mesh.PeersGoThereAndBack", under tests/.
bool has_test(const std::vector<SourceFile>& project, const std::string& named) {
    static const std::regex form(R"(^([\w/]+\.cpp):(\w+)\.(\w+)$)");
    std::smatch found;
    if (!std::regex_match(named, found, form)) return false;
    const SourceFile* file = file_named(project, "tests/" + found[1].str());
    return file != nullptr &&
           file->text.find(fmt::format("({}, {})", found[2].str(), found[3].str())) != file->text.npos;
}

/// What a pattern finds in a file of the project.
std::vector<std::string> named_in(const std::vector<SourceFile>& project, const char* path, const char* pattern) {
    const SourceFile* file = file_named(project, path);
    if (file == nullptr) return {};
    const std::regex names(pattern);
    std::vector<std::string> all;
    for (std::sregex_iterator at(file->text.begin(), file->text.end(), names), end; at != end; ++at)
        all.push_back((*at)[1]);
    return all;
}

}  // namespace

Findings strategy_rows(const SourceFile& table, const std::vector<SourceFile>& project) {
    Findings findings;
    std::istringstream lines(table.text);
    std::size_t number = 0;
    const auto add = [&](const std::string& what) {
        findings.push_back(fmt::format("{}:{}: {}", table.path, number, what));
    };
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (!is_row(line)) continue;
        const std::vector<std::string> cells = cells_of(line);
        if (cells.size() != table_cells) add(fmt::format("{} cells, not {}", cells.size(), table_cells));
        if (std::ranges::count(cells, "") > 0) add("an empty cell");
        if (cells.size() != table_cells) continue;
        for (const std::string& test : split(cells.back(), ','))
            if (!has_test(project, test)) add(fmt::format("no such test: {}", test));
    }
    if (number == 0) add("no table");
    return findings;
}

Findings strategies_left_out(const SourceFile& table, const std::vector<SourceFile>& project) {
    Findings findings;
    const auto look = [&](const std::vector<std::string>& names, const char* what) {
        if (names.empty()) findings.push_back(fmt::format("{}: no {} was found to look for", table.path, what));
        for (const std::string& name : names) {
            const std::regex mentioned(fmt::format(R"(`([\w.]+: )?({0}|{0}: [\w-]+|[\w.]+: {0})`)", name));
            if (!std::regex_search(table.text, mentioned))
                findings.push_back(fmt::format("{}: no row has the {} {}", table.path, what, name));
        }
    };
    look(named_in(project, "strategies/strategy_fields.cpp", R"(<&Strategy::[^>]*>\(\{\.name = "(\w+)\")"), "key");
    look(named_in(project, "strategies/schedule/schedule.hpp", R"(Schedule\{ScheduleKind::\w+,\s*"([\w-]+)\")"),
         "schedule");
    return findings;
}

}  // namespace orrery::code
