// Files of SQLite that others wrote, read row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::doors::nsys {

/// A database that is read and never written, nor are files put beside it. Its own views, triggers and computed columns
/// are not run. Throws Error (file) for a file that is none, or is cut off.
class Database {
public:
    explicit Database(std::string file);
    ~Database();
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    /// Names of a table's columns; empty where there is no such table. Views and virtual tables are none.
    [[nodiscard]] std::vector<std::string> columns(std::string_view table) const;
    [[nodiscard]] const std::string& file() const { return file_; }

private:
    friend class Rows;
    friend class Statement;
    std::string file_;
    void* connection_ = nullptr;  ///< sqlite3
};

/// A column of a table: `needed` ones must be there, of others each row says nothing.
struct Column {
    const char* name;
    bool needed = true;
};

/// The rows of one table in the file's order. Throws Error (file, /TABLE/row/column).
class Rows {
public:
    /// For a table without a needed column: `remedy`.
    Rows(const Database& database, std::string table, std::vector<Column> columns, std::string remedy);
    ~Rows();
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    /// Goes on to the first row, the next one; false after the last.
    bool next();
    /// The number of the row at hand, from 0.
    [[nodiscard]] std::size_t row() const { return row_; }

    /// What stands in a column, counted as they were asked for. Throws Error for what is of another kind.
    [[nodiscard]] std::int64_t whole(int column) const;
    [[nodiscard]] std::optional<std::int64_t> whole_if_any(int column) const;
    [[nodiscard]] std::optional<std::string_view> text_if_any(int column) const;  ///< until the next row

    /// An error about a column of the row at hand.
    [[noreturn]] void refuse(int column, const std::string& what) const;

private:
    const Database& database_;
    std::string table_;
    std::vector<Column> columns_;
    void* statement_ = nullptr;  ///< sqlite3_stmt
    std::size_t row_ = 0;
    bool begun_ = false;
};

}  // namespace orrery::doors::nsys
