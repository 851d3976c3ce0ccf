// Comma-separated tables of published measurements, with errors that name file, line and column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::calibrate {

/// Rows of cells; quotes around a cell are removed, a comma inside quotes does not split it.
class Csv {
public:
    /// Throws Error when the file cannot be read or is empty. header: the first line names the columns.
    Csv(const std::filesystem::path& file, bool header);

    [[nodiscard]] std::size_t rows() const { return rows_.size(); }
    [[nodiscard]] std::size_t cells(std::size_t row) const { return rows_[row].size(); }
    /// Index of a named column. Throws Error when the header lacks it.
    [[nodiscard]] std::size_t column(std::string_view name) const;
    /// "" beyond the end of a short row.
    [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const;
    /// Throws Error (file, line) when the cell is not a number.
    [[nodiscard]] double number(std::size_t row, std::size_t column) const;
    /// Likewise, of a count.
    [[nodiscard]] std::uint32_t whole(std::size_t row, std::size_t column) const;
    /// True when the cell holds a number.
    [[nodiscard]] bool is_number(std::size_t row, std::size_t column) const;

private:
    std::string file_;
    std::size_t first_line_ = 1;
    std::vector<std::string> header_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace orrery::calibrate
