#include "base/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace orrery {

namespace {

/// The code point at the start of text and its length in bytes.
std::pair<char32_t, std::size_t> decode(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const std::size_t length = byte(0) < 0x80           ? 1
                               : (byte(0) >> 5) == 0x6  ? 2
                               : (byte(0) >> 4) == 0xE  ? 3
                               : (byte(0) >> 3) == 0x1E ? 4
                                                        : 0;
    if (length == 0 || length > text.size()) return {U'?', 1};
    char32_t point = length == 1 ? byte(0) : byte(0) & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) >> 6) != 0x2) return {U'?', 1};
        point = (point << 6) | (byte(i) & 0x3Fu);
    }
    return {point, length};
}

std::size_t width_of(char32_t point) {
    const auto within = [point](char32_t first, char32_t last) { return point >= first && point <= last; };
    if (within(0x300, 0x36F) || within(0x200B, 0x200D) || within(0xFE00, 0xFE0F)) return 0;
    const bool wide = within(0x1100, 0x115F) || within(0x2E80, 0xA4CF) || within(0xAC00, 0xD7A3) ||
                      within(0xF900, 0xFAFF) || within(0xFE30, 0xFE6F) || within(0xFF00, 0xFF60) ||
                      within(0x1F300, 0x1FAFF) || within(0x20000, 0x3FFFD);
    return wide ? 2 : 1;
}

std::string padded(const std::string& cell, std::size_t width, Table::Align align) {
    const std::size_t taken = display_width(cell);
    const std::string space(taken < width ? width - taken : 0, ' ');
    return align == Table::Align::left ? cell + space : space + cell;
}

/// Lines of at most so many characters, broken at blanks; a longer word stands alone.
std::vector<std::string> folded(const std::string& cell, std::size_t width) {
    std::vector<std::string> lines(1);
    std::istringstream words(cell);
    for (std::string word; words >> word;) {
        std::string& line = lines.back();
        if (!line.empty() && display_width(line) + 1 + display_width(word) > width)
            lines.push_back(word);
        else
            line += (line.empty() ? "" : " ") + word;
    }
    return lines;
}

void append_line(std::string& text, std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
}

}  // namespace

std::size_t display_width(std::string_view text) {
    std::size_t width = 0;
    while (!text.empty()) {
        const auto [point, length] = decode(text);
        width += width_of(point);
        text.remove_prefix(length);
    }
    return width;
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

Table& Table::row(std::vector<std::string> cells) {
    if (cells.size() > columns_.size())
        throw std::invalid_argument(
            fmt::format("a row of {} cells in a table of {} columns", cells.size(), columns_.size()));
    cells.resize(columns_.size());
    lines_.push_back(std::move(cells));
    return *this;
}

Table& Table::rule() {
    lines_.emplace_back();
    return *this;
}

std::size_t Table::rows() const {
    return static_cast<std::size_t>(
        std::count_if(lines_.begin(), lines_.end(), [](const auto& line) { return !line.empty(); }));
}

std::string Table::to_text() const { return to_text(Style{}); }

std::vector<std::size_t> Table::widths(const Style& style) const {
    constexpr std::size_t least = 16;  // of a folded column
    std::vector<std::size_t> widths;
    std::size_t total = display_width(style.indent) + (columns_.empty() ? 0 : columns_.size() - 1) * style.gap.size();
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        std::size_t width = style.header ? display_width(columns_[c].title) : 0;
        for (const auto& line : lines_)
            if (!line.empty()) width = std::max(width, display_width(line[c]));
        widths.push_back(width);
        total += width;
    }
    const auto foldable = [&](std::size_t c) {
        return columns_[c].align == Align::left && widths[c] > std::max(least, display_width(columns_[c].title));
    };
    while (style.columns > 0 && total > style.columns) {
        std::size_t widest = columns_.size();
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (foldable(c) && (widest == columns_.size() || widths[c] > widths[widest])) widest = c;
        if (widest == columns_.size()) break;
        --widths[widest];
        --total;
    }
    return widths;
}

std::string Table::to_text(const Style& style) const {
    const std::vector<std::size_t> widths = this->widths(style);
    const auto line_of = [&](const std::vector<std::string>& cells) {
        std::string line = style.indent;
        for (std::size_t c = 0; c < widths.size(); ++c)
            line += (c > 0 ? style.gap : "") +
                    (cells.empty() ? std::string(widths[c], '-') : padded(cells[c], widths[c], columns_[c].align));
        return line;
    };
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    std::string text;
    if (style.header) append_line(text, line_of(titles));
    if (style.header && style.header_rule) append_line(text, line_of({}));
    for (const auto& line : lines_) {
        if (line.empty()) {
            append_line(text, line_of({}));
            continue;
        }
        std::vector<std::vector<std::string>> cells;
        std::size_t height = 1;
        for (std::size_t c = 0; c < line.size(); ++c) {
            const bool fits = display_width(line[c]) <= widths[c];
            cells.push_back(fits ? std::vector{line[c]} : folded(line[c], widths[c]));
            height = std::max(height, cells.back().size());
        }
        for (std::size_t i = 0; i < height; ++i) {
            std::vector<std::string> part;
            for (const auto& cell : cells) part.push_back(i < cell.size() ? cell[i] : "");
            append_line(text, line_of(part));
        }
    }
    return text;
}

}  // namespace orrery
