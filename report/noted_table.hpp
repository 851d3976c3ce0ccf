// A table with remarks below its rows.
#pragma once

#include <string>
#include <vector>

#include "base/table.hpp"

namespace orrery::report {

class NotedTable {
public:
    explicit NotedTable(std::vector<Table::Column> columns) : table_(std::move(columns)) {}

    /// note: any number of lines; empty for none.
    void row(std::vector<std::string> cells, std::string note);
    /// The lines of each note stand indented below its row.
    [[nodiscard]] std::string to_text() const;

private:
    Table table_;
    std::vector<std::string> notes_;
};

}  // namespace orrery::report
