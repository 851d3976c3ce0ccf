#include "calibrate/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/read_file.hpp"

namespace orrery::calibrate {

namespace {

std::vector<std::string> split(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"')
            quoted = !quoted;
        else if (c == ',' && !quoted)
            cells.emplace_back();
        else if (c != '\r')
            cells.back() += c;
    }
    return cells;
}

std::optional<double> parse(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

}  // namespace

Csv::Csv(const std::filesystem::path& file, bool header) : file_(file.string()) {
    std::istringstream in(read_file(file, "--from names the folder with the measurement tables"));
    std::string line;
    if (header) {
        if (!std::getline(in, line)) throw Error(file_, "", "is empty", "a header line is expected");
        header_ = split(line);
        first_line_ = 2;
    }
    while (std::getline(in, line)) rows_.push_back(split(line));
    if (rows_.empty()) throw Error(file_, "", "holds no rows", "was the download cut off?");
}

std::size_t Csv::column(std::string_view name) const {
    const auto found = std::find(header_.begin(), header_.end(), name);
    if (found == header_.end())
        throw Error(file_, "", fmt::format("has no column \"{}\"", name), "another version of this table's format?");
    return static_cast<std::size_t>(found - header_.begin());
}

const std::string& Csv::text(std::size_t row, std::size_t column) const {
    static const std::string none;
    return column < rows_[row].size() ? rows_[row][column] : none;
}

double Csv::number(std::size_t row, std::size_t column) const {
    if (const auto value = parse(text(row, column))) return *value;
    throw Error(
        file_, "",
        fmt::format("line {}, column {}: \"{}\" is not a number", row + first_line_, column + 1, text(row, column)),
        "mend or remove the line");
}

std::uint32_t Csv::whole(std::size_t row, std::size_t column) const {
    return static_cast<std::uint32_t>(number(row, column));
}

bool Csv::is_number(std::size_t row, std::size_t column) const { return parse(text(row, column)).has_value(); }

}  // namespace orrery::calibrate
