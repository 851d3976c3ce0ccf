#include "doors/nsys/database.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.hpp"
#include "documents/message.hpp"

namespace orrery::doors::nsys {

namespace {

constexpr const char* export_anew = "export it anew: nsys export --type sqlite --output FILE.sqlite REPORT.nsys-rep";

sqlite3* connection_of(void* connection) { return static_cast<sqlite3*>(connection); }
sqlite3_stmt* statement_of(void* statement) { return static_cast<sqlite3_stmt*>(statement); }

[[noreturn]] void fail(const std::string& file, const std::string& pointer, sqlite3* connection, int code) {
    const std::string said = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
    if (code == SQLITE_NOTADB)
        throw Error(file, pointer, "is no database of SQLite",
                    "export the report first: nsys export --type sqlite --output FILE.sqlite REPORT.nsys-rep");
    if (code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_PERM || code == SQLITE_AUTH)
        throw Error(file, pointer, "cannot be read: " + said, "give a file that may be read");
    throw Error(file, pointer, fmt::format("is damaged: {}", documents::printable(said, 200)), export_anew);
}

/// The file's name as SQLite's URI; immutable: no lock, no journal and no other file is looked at or made.
std::string uri_of(const std::string& file) {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(file).string())
        uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", static_cast<unsigned>(c)) : std::string(1, c);
    return uri + "?immutable=1";
}

/// A name or a query has few bytes; a text of an annotation is shortened by what writes it.
void bound(sqlite3* connection) {
    constexpr int most_bytes = 16 << 20, most_columns = 1000;
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, most_bytes);
    sqlite3_limit(connection, SQLITE_LIMIT_COLUMN, most_columns);
    sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
}

}  // namespace

/// A query with one text, finished with its end.
class Statement {
public:
    Statement(const Database& database, const char* query, std::string_view text) : database_(database) {
        sqlite3* const connection = connection_of(database.connection_);
        if (const int code = sqlite3_prepare_v2(connection, query, -1, &statement_, nullptr); code != SQLITE_OK)
            fail(database.file_, "", connection, code);
        sqlite3_bind_text(statement_, 1, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
    ~Statement() { sqlite3_finalize(statement_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    bool next() {
        const int code = sqlite3_step(statement_);
        if (code != SQLITE_ROW && code != SQLITE_DONE)
            fail(database_.file_, "", connection_of(database_.connection_), code & 0xff);
        return code == SQLITE_ROW;
    }
    [[nodiscard]] std::string text() const {
        const auto* const value = reinterpret_cast<const char*>(sqlite3_column_text(statement_, 0));
        return value == nullptr ? ""
                                : std::string(value, static_cast<std::size_t>(sqlite3_column_bytes(statement_, 0)));
    }

private:
    const Database& database_;
    sqlite3_stmt* statement_ = nullptr;
};

Database::Database(std::string file) : file_(std::move(file)) {
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(file_, unknown))
        throw Error(file_, "", "is no file", "give what nsys export --type sqlite wrote");
    sqlite3* connection = nullptr;
    constexpr int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2(uri_of(file_).c_str(), &connection, flags, nullptr);
    connection_ = connection;
    try {
        if (code != SQLITE_OK) fail(file_, "", connection, code & 0xff);
        bound(connection);
        (void)Statement(*this, "SELECT count(*) FROM sqlite_schema WHERE name = ?1", "").next();
    } catch (...) {
        sqlite3_close(connection);
        throw;
    }
}

Database::~Database() { sqlite3_close(connection_of(connection_)); }

std::vector<std::string> Database::columns(std::string_view table) const {
    Statement is_table(
        *this, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND sql LIKE 'CREATE TABLE%'", table);
    std::vector<std::string> names;
    if (!is_table.next()) return names;
    Statement list(*this, "SELECT name FROM pragma_table_info(?1)", table);
    while (list.next()) names.push_back(list.text());
    return names;
}

Rows::Rows(const Database& database, std::string table, std::vector<Column> columns, std::string remedy)
    : database_(database), table_(std::move(table)), columns_(std::move(columns)) {
    const std::vector<std::string> there = database.columns(table_);
    if (there.empty()) throw Error(database.file_, '/' + table_, "is missing", std::move(remedy));
    std::string query = "SELECT ";
    for (const Column& column : columns_) {
        const bool has = std::ranges::find(there, column.name) != there.end();
        if (!has && column.needed)
            throw Error(database.file_, fmt::format("/{}/{}", table_, column.name), "is missing",
                        "export the report with a newer nsys: it knows this column");
        query += fmt::format("{}{}", &column == columns_.data() ? "" : ", ",
                             has ? fmt::format("\"{}\"", column.name) : "NULL");
    }
    query += fmt::format(" FROM \"{}\"", table_);
    sqlite3* const connection = connection_of(database.connection_);
    sqlite3_stmt* statement = nullptr;
    if (const int code = sqlite3_prepare_v2(connection, query.c_str(), -1, &statement, nullptr); code != SQLITE_OK)
        fail(database.file_, '/' + table_, connection, code & 0xff);
    statement_ = statement;
}

Rows::~Rows() { sqlite3_finalize(statement_of(statement_)); }

bool Rows::next() {
    if (begun_) ++row_;
    begun_ = true;
    const int code = sqlite3_step(statement_of(statement_));
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        fail(database_.file_, fmt::format("/{}/{}", table_, row_), connection_of(database_.connection_), code & 0xff);
    return code == SQLITE_ROW;
}

void Rows::refuse(int column, const std::string& what) const {
    throw Error(database_.file_,
                fmt::format("/{}/{}/{}", table_, row_, columns_[static_cast<std::size_t>(column)].name), what,
                export_anew);
}

std::optional<std::int64_t> Rows::whole_if_any(int column) const {
    sqlite3_stmt* const statement = statement_of(statement_);
    const int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL) return std::nullopt;
    if (type != SQLITE_INTEGER) refuse(column, "is no whole number");
    return sqlite3_column_int64(statement, column);
}

std::int64_t Rows::whole(int column) const {
    const auto value = whole_if_any(column);
    if (!value) refuse(column, "is missing");
    return *value;
}

std::optional<std::string_view> Rows::text_if_any(int column) const {
    sqlite3_stmt* const statement = statement_of(statement_);
    const int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL) return std::nullopt;
    if (type != SQLITE_TEXT) refuse(column, "is no text");
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    if (text == nullptr) refuse(column, "is no text that fits into memory");
    return std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace orrery::doors::nsys
