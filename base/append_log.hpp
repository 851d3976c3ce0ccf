// A file of lines that one process at a time appends to, and that a kill at any moment leaves readable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace orrery {

/// Opened (made where there is none) and locked at once, as long as it lives.
class AppendLog {
public:
    /// who: of another process that has it, "another calibration"; otherwise: what its user may do instead. Throws
    /// Error when another has it, and when it cannot be opened or read.
    AppendLog(const std::filesystem::path& file, std::string_view who, std::string_view otherwise);
    ~AppendLog();
    AppendLog(const AppendLog&) = delete;
    AppendLog& operator=(const AppendLog&) = delete;

    /// What it held when it was opened; a last line without its end was cut off in writing.
    [[nodiscard]] const std::string& text() const { return text_; }
    /// Drops everything behind the first so many bytes. Throws Error.
    void keep(std::uint64_t bytes);
    /// Appends lines, each with its end, in one go: a kill leaves them, or the beginning of them. Throws Error when the
    /// disk is full.
    void append(std::string_view lines);
    /// Puts what was appended on the disk, for when the machine itself dies. Throws Error.
    void flush();
    /// Takes the file away.
    void remove();

private:
    void lock(std::string_view who, std::string_view otherwise);
    [[noreturn]] void cannot_write() const;

    std::string file_, text_;
    int descriptor_ = -1;
};

}  // namespace orrery
