// A report of Nsight Systems, exported to SQLite. The input is what makes the database: a line creates a table or a
// view or inserts rows, and "@OFFSET VALUE" changes a byte of the file that comes of it. SQLite's own reader is not the
// target.
#include <sqlite3.h>

#include <charconv>
#include <memory>
#include <sstream>
#include <vector>

#include "doors/nsys/report.hpp"
#include "tests/fuzz/measured_step.hpp"
#include "tests/fuzz/target.hpp"

namespace orrery::fuzz {

namespace {

/// Ends a statement that would take long.
int stop(void*) { return 1; }

void run_line(sqlite3* database, const std::string& line) {
    if (!line.starts_with("CREATE TABLE ") && !line.starts_with("CREATE VIEW ") && !line.starts_with("INSERT INTO "))
        return;
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database, line.c_str(), -1, &statement, nullptr) == SQLITE_OK) (void)sqlite3_step(statement);
    sqlite3_finalize(statement);
}

/// "@OFFSET VALUE"; offsets beyond the end begin anew.
void change_byte(std::string& bytes, const std::string& line) {
    std::uint64_t offset = 0, value = 0;
    const char* const end = line.data() + line.size();
    const auto [space, bad] = std::from_chars(line.data() + 1, end, offset);
    if (bad != std::errc() || space == end || bytes.empty()) return;
    if (std::from_chars(space + 1, end, value).ec != std::errc()) return;
    bytes[offset % bytes.size()] = static_cast<char>(value);
}

std::string database_of(const std::string& input) {
    constexpr int steps_a_line = 20'000, most_text = 1 << 16;
    sqlite3* opened = nullptr;
    sqlite3_open(":memory:", &opened);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
    sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, most_text);
    sqlite3_progress_handler(opened, steps_a_line, stop, nullptr);
    std::istringstream lines(input);
    std::string line;
    std::vector<std::string> changes;
    while (std::getline(lines, line)) {
        if (line.starts_with('@'))
            changes.push_back(line);
        else
            run_line(opened, line);
    }
    sqlite3_int64 size = 0;
    const std::unique_ptr<unsigned char, void (*)(void*)> image(sqlite3_serialize(opened, "main", &size, 0),
                                                                sqlite3_free);
    std::string bytes =
        image ? std::string(reinterpret_cast<const char*>(image.get()), static_cast<std::size_t>(size)) : std::string();
    for (const std::string& change : changes) change_byte(bytes, change);
    return bytes;
}

}  // namespace

bool nsys(const std::string& input) {
    const InputFile file(database_of(input));
    doors::nsys::Measured measured;
    if (!accepts(InputFile::path(), [&] { measured = doors::nsys::measure({InputFile::path()}); })) return false;
    require(!measured.processes.empty(), "a process ran what was measured");
    require_usable(measured.step);
    return true;
}

}  // namespace orrery::fuzz
