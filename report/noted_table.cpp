#include "report/noted_table.hpp"

#include <sstream>
#include <utility>

namespace orrery::report {

void NotedTable::row(std::vector<std::string> cells, std::string note) {
    table_.row(std::move(cells));
    notes_.push_back(std::move(note));
}

std::string NotedTable::to_text() const {
    constexpr const char* indent = "        ";
    std::istringstream rows(table_.to_text({.header = true, .header_rule = true, .indent = "", .gap = "  "}));
    std::string text, line;
    for (int head = 0; head < 2 && std::getline(rows, line); ++head) text += line + '\n';
    for (const std::string& note : notes_) {
        std::getline(rows, line);
        text += line + '\n';
        std::istringstream remarks(note);
        while (std::getline(remarks, line))
            if (!line.empty()) text += indent + line + '\n';
    }
    return text;
}

}  // namespace orrery::report
