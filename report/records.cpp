#include "report/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "base/overloaded.hpp"

namespace orrery::report {

namespace {

using Json = nlohmann::ordered_json;

bool is_number(const std::string& text) {
    double value = 0;
    const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
    const auto [end, failure] = std::from_chars(begin, text.data() + text.size(), value);
    return failure == std::errc{} && end == text.data() + text.size();
}

std::string csv_cell(std::string text) {
    constexpr std::string_view formula = "=+-@\t\r";
    if (!text.empty() && formula.find(text.front()) != std::string_view::npos && !is_number(text)) text.insert(0, "'");
    if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + '"';
}

Value value_of(const Json& json) {
    switch (json.type()) {
        case Json::value_t::null: return {};
        case Json::value_t::boolean: return json.get<bool>();
        case Json::value_t::number_integer:
        case Json::value_t::number_unsigned: return json.get<std::int64_t>();
        case Json::value_t::number_float: return json.get<double>();
        case Json::value_t::string: return json.get<std::string>();
        default: return json.dump();
    }
}

/// Appends the values of an object, those of objects within it under both names.
void flatten(const Json& object, const std::string& before, std::vector<std::pair<std::string, Value>>& out) {
    for (const auto& [key, value] : object.items()) {
        if (value.is_object() && !value.empty())
            flatten(value, before + key + '.', out);
        else
            out.emplace_back(before + key, value_of(value));
    }
}

}  // namespace

double Value::as_double() const {
    if (const auto* whole = std::get_if<std::int64_t>(&held_); whole != nullptr) return static_cast<double>(*whole);
    return std::get<double>(held_);
}

std::string Value::text() const {
    return std::visit(Overloaded{[](std::monostate) { return std::string("-"); },
                                 [](bool truth) { return std::string(truth ? "yes" : "no"); },
                                 [](std::int64_t number) { return fmt::format("{}", number); },
                                 [](double number) { return fmt::format("{:.4g}", number); },
                                 [](const std::string& text) { return text; }},
                      held_);
}

namespace {

/// Counts and bytes are whole, whichever type they were reckoned in.
Json number_json(double number) {
    constexpr double exact = 9007199254740992.0;  // 2^53
    if (!std::isfinite(number)) return {};
    if (std::trunc(number) == number && std::abs(number) < exact) return static_cast<std::int64_t>(number);
    return number;
}

}  // namespace

Json Value::json() const {
    return std::visit(
        Overloaded{[](std::monostate) { return Json(); }, [](bool truth) { return Json(truth); },
                   [](std::int64_t number) { return Json(number); }, [](double number) { return number_json(number); },
                   [](const std::string& text) { return Json(text); }},
        held_);
}

Records::Records(std::vector<Column> columns) : columns_(std::move(columns)) {}

Records Records::of(const Json& objects) {
    std::vector<Column> columns;
    std::vector<std::vector<std::pair<std::string, Value>>> found;
    const auto place = [&](const std::string& key) { return std::ranges::find(columns, key, &Column::key); };
    for (const Json& object : objects) {
        flatten(object, "", found.emplace_back());
        for (const auto& [key, value] : found.back())
            if (place(key) == columns.end()) columns.push_back({key});
    }
    Records records(columns);
    for (auto& cells : found) {
        std::vector<Value> row(columns.size());
        for (auto& [key, value] : cells) row[static_cast<std::size_t>(place(key) - columns.begin())] = std::move(value);
        records.row(std::move(row));
    }
    return records;
}

Records& Records::row(std::vector<Value> values) {
    if (values.size() != columns_.size())
        throw std::invalid_argument(fmt::format("{} values for {} columns", values.size(), columns_.size()));
    rows_.push_back(std::move(values));
    return *this;
}

std::string Records::text(std::size_t columns) const {
    std::vector<Table::Column> heads;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        const bool number = std::ranges::any_of(rows_, [&](const auto& row) { return row[c].number(); });
        heads.push_back({columns_[c].title.empty() ? columns_[c].key : columns_[c].title,
                         number ? Table::Align::right : columns_[c].align});
    }
    Table table(std::move(heads));
    for (const auto& row : rows_) {
        std::vector<std::string> cells;
        for (std::size_t c = 0; c < row.size(); ++c)
            cells.push_back(row[c].number() && columns_[c].shown ? columns_[c].shown(row[c].as_double())
                                                                 : row[c].text());
        table.row(std::move(cells));
    }
    return table.to_text({.columns = columns});
}

std::string Records::csv() const {
    std::vector<std::string> cells;
    for (const Column& column : columns_) cells.push_back(column.key);
    std::string text = csv_line(cells);
    for (const auto& row : rows_) {
        cells.clear();
        for (const Value& value : row) {
            const Json json = value.json();
            cells.push_back(json.is_null() ? "" : json.is_string() ? json.get<std::string>() : json.dump());
        }
        text += csv_line(cells);
    }
    return text;
}

Json Records::objects() const {
    Json list = Json::array();
    for (const auto& row : rows_) {
        Json object = Json::object();
        for (std::size_t c = 0; c < row.size(); ++c) object[columns_[c].key] = row[c].json();
        list.push_back(std::move(object));
    }
    return list;
}

std::string Records::json() const { return objects().dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

std::string csv_line(const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? "," : "") + csv_cell(cells[i]);
    return line + '\n';
}

}  // namespace orrery::report
