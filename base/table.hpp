// Aligned text tables for the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// Columns a terminal needs for UTF-8 text: one a character, none for combining marks, two for the
/// wide characters of East Asia. A byte that is no UTF-8 counts as one.
std::size_t display_width(std::string_view text);

/// Rows of cells under named columns, each as wide as its widest cell:
///     stage   GEMM      peak
///     -----  ------  --------
///     0      980 ms  61.3 GiB
class Table {
public:
    enum class Align { left, right };
    struct Column {
        std::string title;
        Align align = Align::right;
    };

    explicit Table(std::vector<Column> columns);

    /// Appends a row. Fewer cells than columns leave the rest empty; throws std::invalid_argument for more.
    Table& row(std::vector<std::string> cells);
    /// Appends a line of dashes.
    Table& rule();

    [[nodiscard]] std::size_t rows() const;

    struct Style {
        bool header = true;       ///< the line of titles
        bool header_rule = true;  ///< dashes under the titles
        std::string indent = {};  ///< before every line
        std::string gap = "  ";   ///< between columns
        std::size_t columns = 0;  ///< of the terminal: the widest texts are folded at words to fit; 0: no limit
    };
    /// Every line ends with a newline and none with spaces.
    [[nodiscard]] std::string to_text(const Style& style) const;
    [[nodiscard]] std::string to_text() const;

private:
    [[nodiscard]] std::vector<std::size_t> widths(const Style& style) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> lines_;  // a rule is a line without cells
};

}  // namespace orrery
